"""What every aggregate is made of: values, events, the envelope, transition tables, errors."""
