"""The Project: what must be serial across Changes, above all the compare-and-swap of promotion."""
