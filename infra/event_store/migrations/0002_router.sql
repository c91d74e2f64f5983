-- The causal router's own view, one row per Change; its position is in notification_tracking under `router`.

CREATE TABLE router_changes (
    change text PRIMARY KEY,
    project text NOT NULL,
    open boolean NOT NULL,
    view json NOT NULL
);
CREATE INDEX router_changes_open_idx ON router_changes (project) WHERE open;
