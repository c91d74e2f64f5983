-- The event store: the log, handled commands, the outbox, effects, leases, slots, positions of followers.

CREATE TABLE installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO installation (id) VALUES (gen_random_uuid()::text);

-- The columns of the eventsourcing library, then copies of what the stored bytes (state) hold.
CREATE TABLE stored_events (
    originator_id text NOT NULL,
    originator_version bigint NOT NULL,
    topic text NOT NULL,
    state bytea NOT NULL,
    notification_id bigserial NOT NULL,
    occurred_at timestamptz NOT NULL,
    actor text NOT NULL,
    command_id text NOT NULL,
    causation text,
    correlation text,
    run text,
    PRIMARY KEY (originator_id, originator_version)
) WITH (
    autovacuum_vacuum_threshold = 100000000,
    autovacuum_vacuum_scale_factor = 0.5,
    autovacuum_analyze_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.01
);
CREATE UNIQUE INDEX stored_events_notification_id_idx ON stored_events (notification_id);

-- The library's table of positions (single row per follower), with its marker of that form.
CREATE TABLE notification_tracking (
    application_name text PRIMARY KEY,
    notification_id bigint
);
INSERT INTO notification_tracking VALUES ('__migration__', 1);

CREATE TABLE commands (
    command_id text PRIMARY KEY,
    name text NOT NULL,
    actor text NOT NULL,
    at timestamptz NOT NULL,
    handling text NOT NULL,
    reason text NOT NULL,
    causation text,
    correlation text,
    payload json
);

CREATE TABLE outbox (
    message_id text PRIMARY KEY,
    seq bigserial NOT NULL,
    topic text NOT NULL,
    name text NOT NULL,
    project text NOT NULL,
    change text,
    payload json NOT NULL,
    causation text,
    correlation text,
    actor text NOT NULL,
    created_at timestamptz NOT NULL,
    not_before timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    dead_at timestamptz,
    handled_at timestamptz
);
CREATE INDEX outbox_open_idx ON outbox (seq) WHERE handled_at IS NULL AND dead_at IS NULL;
CREATE INDEX outbox_dead_idx ON outbox (seq) WHERE handled_at IS NULL AND dead_at IS NOT NULL;

CREATE TABLE effects (
    effect_id text PRIMARY KEY,
    seq bigserial NOT NULL,
    kind text NOT NULL,
    change text,
    project text NOT NULL,
    payload json NOT NULL,
    opened_by text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    not_before timestamptz,
    last_error text NOT NULL DEFAULT '',
    closed_by text
);
CREATE INDEX effects_open_idx ON effects (seq) WHERE closed_by IS NULL;

-- holder is NULL when nobody holds it; the row stays, so that an epoch is never used twice.
CREATE TABLE leases (
    name text PRIMARY KEY,
    holder text,
    epoch bigint NOT NULL,
    counter bigint NOT NULL
);

CREATE TABLE slots (
    owner text PRIMARY KEY,
    holder text NOT NULL,
    counter bigint NOT NULL
);

-- One commit, one statement, one transaction. Every writer of the log goes through here: the advisory lock makes
-- commit order the order of positions, so that a follower never meets a gap that is filled later.
CREATE FUNCTION commit_events(
    -- {"appends": [{stream, expected, head}], "events": [the columns of stored_events but state], and, each only if
    -- there are any, the rows of "fences", "handled", "messages", "effects", "closed"}. head is the hash that
    -- the bytes stored at version `expected` must have ('' leaves it unchecked).
    document json,
    -- The stored bytes of "events", in the same order.
    states bytea[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    wanted record;
    head record;
    last_position bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(7305808869229538401);

    IF document->'fences' IS NOT NULL THEN
        FOR wanted IN SELECT * FROM json_to_recordset(document->'fences') AS f(name text, holder text, epoch bigint) LOOP
            -- The row lock keeps a takeover out until this commit is done.
            PERFORM 1 FROM leases l WHERE l.name = wanted.name AND l.holder = wanted.holder AND l.epoch = wanted.epoch
                FOR SHARE;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the lease % is held by another', wanted.name USING ERRCODE = 'RB001';
            END IF;
        END LOOP;
    END IF;

    IF document->'handled' IS NOT NULL THEN
        FOR wanted IN SELECT * FROM json_to_recordset(document->'handled') AS h(command_id text, name text, actor text,
                at timestamptz, handling text, reason text, causation text, correlation text, payload json) LOOP
            INSERT INTO commands (command_id, name, actor, at, handling, reason, causation, correlation, payload)
                VALUES (wanted.command_id, wanted.name, wanted.actor, wanted.at, wanted.handling, wanted.reason,
                    wanted.causation, wanted.correlation, wanted.payload)
                ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the command % is recorded already', wanted.command_id USING ERRCODE = 'RB002';
            END IF;
            UPDATE outbox o SET handled_at = wanted.at
                WHERE o.message_id = wanted.command_id AND o.handled_at IS NULL;
        END LOOP;
    END IF;

    FOR wanted IN SELECT * FROM json_to_recordset(document->'appends')
            AS a(stream text, expected bigint, head text) LOOP
        SELECT originator_version AS version, encode(sha256(state), 'hex') AS hash INTO head
            FROM stored_events WHERE originator_id = wanted.stream ORDER BY originator_version DESC LIMIT 1;
        IF coalesce(head.version, 0) <> wanted.expected THEN
            RAISE EXCEPTION '% is at version %, not %', wanted.stream, coalesce(head.version, 0), wanted.expected
                USING ERRCODE = 'RB003';
        END IF;
        IF wanted.expected > 0 AND wanted.head <> '' AND head.hash <> wanted.head THEN
            RAISE EXCEPTION '% has another history up to version %', wanted.stream, wanted.expected
                USING ERRCODE = 'RB003';
        END IF;
    END LOOP;

    WITH inserted AS (
        INSERT INTO stored_events (originator_id, originator_version, topic, state, occurred_at, actor, command_id,
                causation, correlation, run)
            SELECT e.stream, e.version, e.type, e.state, e.at, e.actor, e.command, e.causation, e.correlation, e.run
            FROM ROWS FROM (
                    json_to_recordset(document->'events') AS (stream text, version bigint, type text, at timestamptz,
                        actor text, command text, causation text, correlation text, run text),
                    unnest(states)
                ) WITH ORDINALITY
                AS e(stream, version, type, at, actor, command, causation, correlation, run, state, n)
            ORDER BY e.n
            RETURNING notification_id
    )
    SELECT max(notification_id) INTO last_position FROM inserted;

    IF document->'messages' IS NOT NULL THEN
        INSERT INTO outbox (message_id, topic, name, project, change, payload, causation, correlation, actor,
                created_at, not_before)
            SELECT message_id, topic, name, project, change, payload, causation, correlation, actor, created_at,
                not_before
            FROM json_to_recordset(document->'messages') AS m(message_id text, topic text, name text, project text,
                change text, payload json, causation text, correlation text, actor text, created_at timestamptz,
                not_before timestamptz)
            WHERE NOT EXISTS (SELECT 1 FROM commands c WHERE c.command_id = m.message_id)
            ON CONFLICT DO NOTHING;
    END IF;
    IF document->'effects' IS NOT NULL THEN
        INSERT INTO effects (effect_id, kind, change, project, payload, opened_by)
            SELECT effect_id, kind, change, project, payload, opened_by
            FROM json_to_recordset(document->'effects') AS e(effect_id text, kind text, change text, project text,
                payload json, opened_by text)
            ON CONFLICT DO NOTHING;
    END IF;
    IF document->'closed' IS NOT NULL THEN
        UPDATE effects e SET closed_by = c.event
            FROM json_to_recordset(document->'closed') AS c(effect_id text, event text)
            WHERE e.effect_id = c.effect_id AND e.closed_by IS NULL;
    END IF;

    NOTIFY stored_events;
    RETURN coalesce(last_position, (SELECT max(notification_id) FROM stored_events), 0);
END;
$$;
