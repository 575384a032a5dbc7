-- Two roles beside the owner. Servers and workers act as memhub_server, which can neither change nor
-- delete what was said. memhub_operator is what `memhub purge` and `memhub import` switch to: exemptions
-- go by role because any session may set a setting, but only a member may set a role.
-- Roles belong to the cluster, so another database may have made them, even at this moment.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['memhub_server', 'memhub_operator'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
        IF NOT pg_has_role(current_user, wanted, 'SET') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT FALSE, SET TRUE', wanted);
        END IF;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA memhub TO memhub_server, memhub_operator;
GRANT SELECT ON memhub.schema_migrations TO memhub_server, memhub_operator;

-- Trigger functions pin their search_path: a session could otherwise put a clock_timestamp() of its own before the real one.
-- A check needs no pin, it is bound when it is made. The pins cost a write 3 to 8 % of its time on the server.
CREATE FUNCTION memhub.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION '% on %.% is refused: it is append-only', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME,
              HINT = 'What was said stays readable for ever; memhub purge is the only way to destroy it.';
END
$$;

-- An instant of this transaction, or any where the operator writes. A check of a table is read from its text by every
-- statement that writes: with the comparisons in place, five of them were 6 % of the instructions of a remember. No pinned
-- search_path, which would cost that again, so every name is qualified.
CREATE FUNCTION memhub.time_holds(at timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN at OPERATOR(pg_catalog.>=) pg_catalog.now() AND at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
        OR current_user OPERATOR(pg_catalog.=) 'memhub_operator';
END
$$;

-- For tables whose one time is created_at. In a function that is pinned already, the comparison in place costs less.
CREATE FUNCTION memhub.refuse_foreign_created_at() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NOT NEW.created_at BETWEEN now() AND clock_timestamp() AND NOT current_user = 'memhub_operator' THEN
        RAISE EXCEPTION '%.created_at % is not of this transaction', TG_TABLE_NAME, NEW.created_at
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME,
                  HINT = 'Use clock_timestamp(), read after the locks.';
    END IF;
    RETURN NEW;
END
$$;
