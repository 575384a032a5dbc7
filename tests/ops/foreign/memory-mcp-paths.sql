CREATE TABLE memories (id uuid, content text, category_path text, supersedes_id uuid, archived_at timestamptz, tier
    text, metadata jsonb, created_at timestamptz, updated_at timestamptz);
INSERT INTO memories VALUES ('51eef2c8-576c-59b0-8005-2d1bbf286aec', 'The shop moves order events through a RabbitMQ queue named orders.created with three consumers. Messages that fail five times go to the dead letter queue orders.dead. The shop team looks at the dead letter queue every Monday morning.', 'projects.shop.queue', '8a6dfc0d-5656-520c-bd82-1386adf834e9', NULL, 'canonical', '{"tags": ["rabbitmq", "orders"], "suggested_tier": "canonical", "volatility_class": "medium"}', '2026-10-21 20:50:59.451983+00', '2026-11-10 20:51:02.267102+00');
INSERT INTO memories VALUES ('fec02458-d5cb-50ee-afd0-bda1c6690d54', 'Deployments of the shop run from GitHub Actions to a single Hetzner machine. The workflow builds a container image, pushes it to the registry and restarts the systemd unit shop-web. A rollback is the same workflow with the previous image tag.', 'projects.shop.deployment', 'd1c86484-13d6-5473-976e-3e3bdfc08e33', NULL, 'historical', '{"tags": ["ci", "hetzner"], "source": "cli", "session": "2024-w12", "suggested_tier": "historical", "volatility_class": "low"}', '2026-10-22 20:50:59.709622+00', '2026-11-11 20:51:02.576805+00');
INSERT INTO memories VALUES ('42944f1e-7ddd-5c2b-b636-c39013c75592', 'DECISION: the shop stores money as integer cents in PostgreSQL 15. RATIONALE: floating point rounding lost 0.01 EUR in refunds. ALTERNATIVES CONSIDERED: numeric(12,2) and a money library. REJECTED BECAUSE: numeric was slower in the reporting queries of the shop and the library had no maintainer.', 'projects.shop.decisions', NULL, NULL, 'canonical', '{"tags": ["money", "postgres"], "tier": "canonical", "suggested_tier": "canonical", "volatility_class": "static"}', '2026-10-23 20:50:59.919749+00', '2026-10-23 20:50:59.919749+00');
INSERT INTO memories VALUES ('e04c5bda-3c0b-5efa-b226-a544f88bfcf9', 'The fleet tracker reads vehicle positions over MQTT from the broker at fleet-broker:8883. Each vehicle sends one position every fifteen seconds while its ignition is on. The fleet tracker drops positions older than two minutes.', 'projects.fleet_tracker.ingest', 'e04c5bda-3c0b-5efa-b226-a544f88bfcf9', NULL, 'canonical', '{"tags": ["mqtt"], "suggested_tier": "canonical", "volatility_class": "medium"}', '2026-10-24 20:51:00.129584+00', '2026-11-12 20:51:02.878777+00');
INSERT INTO memories VALUES ('60464c30-b7d4-5695-9f40-c1d3401fa562', 'In March the fleet tracker was moved from TimescaleDB hypertables to plain partitioned tables. The migration of the fleet tracker took four hours and lost no position. The old hypertables were dropped on 2 April — “after two quiet weeks”. The old backups were deleted a month later.', 'projects.fleet_tracker.history', NULL, NULL, 'historical', '{"tags": ["migration"], "suggested_tier": "historical", "volatility_class": "static"}', '2026-10-25 20:51:00.338108+00', '2026-11-26 20:51:05.974497+00');
INSERT INTO memories VALUES ('9150672e-c68b-5b81-95fb-f2db9d473a5a', 'Marta wants short answers with the command first and the reason after it. She does not want emoji in code comments. She reads diffs faster than prose, so a patch is always welcome.', 'profile.preferences.communication', NULL, NULL, 'canonical', '{"tags": ["style"], "suggested_tier": "canonical", "volatility_class": "low"}', '2026-10-26 20:51:00.644975+00', '2026-10-26 20:51:00.644975+00');
INSERT INTO memories VALUES ('d8f1006a-5743-5f8f-b7f4-9e7bd674b301', 'Marta Okonkwo lives in Lisbon and works as a backend engineer for two small customers. She answers mail between nine and eleven in the morning. Her time zone is Europe/Lisbon and she writes Portuguese and English.', 'profile.identity', NULL, NULL, 'canonical', '{"tags": ["person"], "suggested_tier": "canonical", "volatility_class": "low"}', '2026-10-26 20:51:00.644975+00', '2026-10-26 20:51:00.644975+00');
INSERT INTO memories VALUES ('e60f879a-f264-5f17-ad11-5db9591c0fea', 'PostgreSQL advisory locks are released at the end of the session or of the transaction, depending on the function. pg_advisory_xact_lock cannot be released early. Locks are keyed by one bigint or two integers.', 'reference.postgres.locks', NULL, NULL, 'canonical', '{"tags": ["postgres"], "links": [{"url": "https://example.org/locks"}], "owner": null, "rating": 4.5, "reviewed": true, "suggested_tier": "canonical", "volatility_class": "static"}', '2026-10-27 20:51:00.9137+00', '2026-11-25 20:51:05.921486+00');
INSERT INTO memories VALUES ('848a57fd-3c5c-51e0-bd22-fa9824e0238e', 'The shop warehouse counts stock by hand while the scanner of the shop is being repaired. Counting starts at six in the morning and ends before the first parcel pickup. The stock sheet hangs at the door of the warehouse.', 'projects.shop.warehouse', '590495cd-bef4-5f96-ad59-372684399618', '2026-11-30 20:51:06.408791+00', 'canonical', '{"tags": ["stock"], "ttl_days": 5, "suggested_tier": "canonical", "volatility_class": "high"}', '2026-10-31 20:51:01.123025+00', '2026-11-02 20:51:01.336104+00');
INSERT INTO memories VALUES ('590495cd-bef4-5f96-ad59-372684399618', 'The shop warehouse counts stock with the repaired scanner of the shop since Friday. Counting starts at six in the morning and ends before the first parcel pickup. The stock sheet at the door of the warehouse is gone.', 'projects.shop.warehouse', NULL, NULL, 'canonical', '{"tags": ["stock"], "suggested_tier": "canonical", "volatility_class": "high"}', '2026-11-02 20:51:01.336104+00', '2026-11-02 20:51:01.336104+00');
INSERT INTO memories VALUES ('5ceec274-29c3-5df1-baf7-23d44f99a5ed', 'The fleet tracker sends its weekly mileage report to the customer on Friday afternoon as a PDF file. The mileage report lists every vehicle with its distance and fuel. Drivers of the fleet tracker customer are named by number only.', 'projects.fleet_tracker.reports', '09146c29-af75-5ca8-bacc-851feb764e7e', NULL, 'canonical', '{"tags": ["mileage"], "suggested_tier": "canonical", "volatility_class": "medium"}', '2026-11-04 20:51:01.645042+00', '2026-11-05 20:51:01.855294+00');
INSERT INTO memories VALUES ('09146c29-af75-5ca8-bacc-851feb764e7e', 'The fleet tracker sends its weekly mileage report to the customer on Monday morning as a spreadsheet, for a trial. The mileage report lists every vehicle with its distance and fuel. Drivers of the fleet tracker customer are named by number only.', 'projects.fleet_tracker.reports', NULL, '2026-11-30 20:51:06.408791+00', 'canonical', '{"tags": ["mileage"], "ttl_days": 10, "suggested_tier": "canonical", "volatility_class": "medium"}', '2026-11-05 20:51:01.855294+00', '2026-11-05 20:51:01.855294+00');
INSERT INTO memories VALUES ('8a6dfc0d-5656-520c-bd82-1386adf834e9', 'The shop moves order events through a RabbitMQ queue named orders.created, since May with six consumers on two machines. Messages that fail five times go to the dead letter queue orders.dead. The shop team looks at it every Monday morning.', 'projects.shop.queue', NULL, NULL, 'canonical', '{"tags": ["rabbitmq", "orders"], "suggested_tier": "canonical", "volatility_class": "medium"}', '2026-11-10 20:51:02.267102+00', '2026-11-10 20:51:02.267102+00');
INSERT INTO memories VALUES ('d1c86484-13d6-5473-976e-3e3bdfc08e33', 'Deployments of the shop run from GitHub Actions to a single Hetzner machine. The workflow builds a container image, pushes it to the registry, runs the database migrations of the shop and restarts the systemd unit shop-web. A rollback is the same workflow with the previous image tag.', 'projects.shop.deployment', NULL, NULL, 'historical', '{"tags": ["ci", "hetzner"], "suggested_tier": "historical", "volatility_class": "low"}', '2026-11-11 20:51:02.576805+00', '2026-11-11 20:51:02.576805+00');
INSERT INTO memories VALUES ('ae914001-5116-5811-bf42-f1c2cb009d49', '# System Primer

Knowledge base contains 9 active memories across 9 categories.

## User Context
Marta Okonkwo is a backend engineer in Lisbon who keeps a small online shop and a fleet tracker running. She prefers short answers with the command first.

## Decision Provenance
Active `*.decisions` records (most recent first):
- `projects.shop.decisions` · `42944f1e-7ddd-5c2b-b636-c39013c75592` · DECISION: the shop stores money as integer cents in PostgreSQL 15. RATIONALE: floating point rounding lost 0.01 EUR in refunds. ALTERNATIVES CONSIDERED: nume...

## Taxonomy
```
profile/ (2)
│   ├── identity [1]
│   ├── preferences/ (1) — communication
projects/ (6)
│   ├── fleet_tracker/ (2) — history, reports
│   ├── shop/ (4) — decisions, deployment, queue, warehouse
reference/ (1)
│   ├── postgres/ (1) — locks
```

## Verification Protocol
When `initialize_context` returns a non-empty `verification_block`, inject it under ## Verification Required and address EACH item BEFORE any other task:
1. Quote the memory content to the user and ask if it is still accurate.
2. User confirms unchanged → call `confirm_memory_validity(memory_id)`.
3. User provides updated info → call `memorize_context(new_text)` to run the standard contradiction engine and supersede the stale record.

## Context Store Guide
Separate from long-term memory. Use for ephemeral, session-scoped working data.
- `set_context(key, value, ttl_hours, scope)` — write active state (plans, task context, summaries)
- `get_context(key)` — retrieve by exact key
- `list_context_keys(scope?)` — see what''s currently active
- `delete_context(key)` — explicitly clear when done
- `extend_context_ttl(key, hours)` — push expiry forward if needed

**When to use context store vs memorize_context:**
- Use context store for: active plans, current task state, session summaries, anything that will be stale in < 7 days
- Use memorize_context for: facts about you, project decisions, architecture notes, anything that should persist long-term
- Default TTL: 24 hours. Plans/tasks: 72 hours. Never exceed 168 hours (1 week) for working context.

## Handoff Protocol
Use the context store to pass plans and task state between AI sessions or between different AI tools.

**Exporting a handoff (AI A — the planner):**
When the user says ''export plan'', ''hand this off'', or similar:
1. Write the plan to context store: `set_context(''handoff.<label>'', <plan text>, ttl_hours=72, scope=''handoff'')`
   - `<label>` is a short slug describing the work, e.g. `handoff.auth-refactor`
   - Include enough context for a fresh AI to execute without clarification: goal, steps, relevant files, decisions made
2. Tell the user the resume prompt to paste into the other AI:
   > **Resume prompt:** "Execute pending handoff: <label>"
3. STOP. Do NOT offer to execute the handoff plan yourself. The purpose of a handoff is to pass work to another AI session.

**Importing a handoff (AI B — the executor):**
When the user says ''execute pending handoff'', ''resume handoff: <label>'', or similar:
1. If a label is given: `get_context(''handoff.<label>'')` and execute the plan
2. If no label: check `initialize_context` response for `pending_handoffs` — it lists all active handoffs
   then `get_context` the relevant one and confirm with the user before starting
3. After completion: `delete_context(''handoff.<label>'')` to clean up

**Note:** `initialize_context` automatically surfaces any active handoffs in `pending_handoffs` so you never need to poll manually at session start.

## Planner Obligation
Any agent completing a planning or design session MUST call `memorize_context()` with a structured decision record before exiting. Use the format: DECISION / RATIONALE / ALTERNATIVES CONSIDERED / REJECTED BECAUSE. Assign category path `projects.<project>.decisions`. Do not rely on handoff packs for design rationale — handoff packs expire, decision records do not.

## Retrieval Guide
- `search_memory(query)` — hybrid semantic + keyword search, returns top 10
- `search_memory(query, category_path=''projects.myapp.planning'')` — scoped to subtree
- `list_categories()` — all paths with counts
- `fetch_document(memory_id)` — reconstruct full document from chunk chain
- `trace_history(memory_id)` — inspect supersession chain for a fact
- `decision_timeline(...)` — view chronological decision changes across memories and audit events
- `contradiction_audit(...)` — inspect conflict-resolution audit events and reason payloads
- `explore_taxonomy(path)` — expand a collapsed ''[+N more]'' branch
- `check_ingestion_status(job_id)` — poll async ingestion progress
- `confirm_memory_validity(memory_id)` — confirm an expired record is still accurate; advances verify_after
- `initialize_context()` — returns this primer
', 'reference.system.primer', '9b0c8419-f00f-5957-bf80-510aa8fcee2e', NULL, 'canonical', '{}', '2026-11-12 20:51:03.070113+00', '2026-11-16 20:51:04.110341+00');
INSERT INTO memories VALUES ('c163644c-06d7-5bf1-b1da-89ea294f7533', 'The staging host of the shop listens on port 8080 behind Caddy with a certificate from the internal authority. Basic auth protects the staging host. Only the office network and the VPN reach the staging host of the shop.', 'projects.shop.staging', '83a4b7e8-71b3-511d-8b68-007cc1cd1ab3', NULL, 'historical', '{"suggested_tier": "historical", "volatility_class": "high"}', '2026-11-14 20:51:03.399137+00', '2026-11-16 20:51:03.911604+00');
INSERT INTO memories VALUES ('9b0c8419-f00f-5957-bf80-510aa8fcee2e', '# System Primer

Knowledge base contains 10 active memories across 10 categories.

## User Context
Marta Okonkwo is a backend engineer in Lisbon who keeps a small online shop and a fleet tracker running. She prefers short answers with the command first.

## Decision Provenance
Active `*.decisions` records (most recent first):
- `projects.shop.decisions` · `42944f1e-7ddd-5c2b-b636-c39013c75592` · DECISION: the shop stores money as integer cents in PostgreSQL 15. RATIONALE: floating point rounding lost 0.01 EUR in refunds. ALTERNATIVES CONSIDERED: nume...

## Taxonomy
```
profile/ (2)
│   ├── identity [1]
│   ├── preferences/ (1) — communication
projects/ (7)
│   ├── fleet_tracker/ (2) — history, reports
│   ├── shop/ (5) — decisions, deployment, queue, staging, warehouse
reference/ (1)
│   ├── postgres/ (1) — locks
```

## Verification Protocol
When `initialize_context` returns a non-empty `verification_block`, inject it under ## Verification Required and address EACH item BEFORE any other task:
1. Quote the memory content to the user and ask if it is still accurate.
2. User confirms unchanged → call `confirm_memory_validity(memory_id)`.
3. User provides updated info → call `memorize_context(new_text)` to run the standard contradiction engine and supersede the stale record.

## Context Store Guide
Separate from long-term memory. Use for ephemeral, session-scoped working data.
- `set_context(key, value, ttl_hours, scope)` — write active state (plans, task context, summaries)
- `get_context(key)` — retrieve by exact key
- `list_context_keys(scope?)` — see what''s currently active
- `delete_context(key)` — explicitly clear when done
- `extend_context_ttl(key, hours)` — push expiry forward if needed

**When to use context store vs memorize_context:**
- Use context store for: active plans, current task state, session summaries, anything that will be stale in < 7 days
- Use memorize_context for: facts about you, project decisions, architecture notes, anything that should persist long-term
- Default TTL: 24 hours. Plans/tasks: 72 hours. Never exceed 168 hours (1 week) for working context.

## Handoff Protocol
Use the context store to pass plans and task state between AI sessions or between different AI tools.

**Exporting a handoff (AI A — the planner):**
When the user says ''export plan'', ''hand this off'', or similar:
1. Write the plan to context store: `set_context(''handoff.<label>'', <plan text>, ttl_hours=72, scope=''handoff'')`
   - `<label>` is a short slug describing the work, e.g. `handoff.auth-refactor`
   - Include enough context for a fresh AI to execute without clarification: goal, steps, relevant files, decisions made
2. Tell the user the resume prompt to paste into the other AI:
   > **Resume prompt:** "Execute pending handoff: <label>"
3. STOP. Do NOT offer to execute the handoff plan yourself. The purpose of a handoff is to pass work to another AI session.

**Importing a handoff (AI B — the executor):**
When the user says ''execute pending handoff'', ''resume handoff: <label>'', or similar:
1. If a label is given: `get_context(''handoff.<label>'')` and execute the plan
2. If no label: check `initialize_context` response for `pending_handoffs` — it lists all active handoffs
   then `get_context` the relevant one and confirm with the user before starting
3. After completion: `delete_context(''handoff.<label>'')` to clean up

**Note:** `initialize_context` automatically surfaces any active handoffs in `pending_handoffs` so you never need to poll manually at session start.

## Planner Obligation
Any agent completing a planning or design session MUST call `memorize_context()` with a structured decision record before exiting. Use the format: DECISION / RATIONALE / ALTERNATIVES CONSIDERED / REJECTED BECAUSE. Assign category path `projects.<project>.decisions`. Do not rely on handoff packs for design rationale — handoff packs expire, decision records do not.

## Retrieval Guide
- `search_memory(query)` — hybrid semantic + keyword search, returns top 10
- `search_memory(query, category_path=''projects.myapp.planning'')` — scoped to subtree
- `list_categories()` — all paths with counts
- `fetch_document(memory_id)` — reconstruct full document from chunk chain
- `trace_history(memory_id)` — inspect supersession chain for a fact
- `decision_timeline(...)` — view chronological decision changes across memories and audit events
- `contradiction_audit(...)` — inspect conflict-resolution audit events and reason payloads
- `explore_taxonomy(path)` — expand a collapsed ''[+N more]'' branch
- `check_ingestion_status(job_id)` — poll async ingestion progress
- `confirm_memory_validity(memory_id)` — confirm an expired record is still accurate; advances verify_after
- `initialize_context()` — returns this primer
', 'reference.system.primer', 'ae914001-5116-5811-bf42-f1c2cb009d49', NULL, 'canonical', '{}', '2026-11-14 20:51:03.49822+00', '2026-11-16 20:51:04.110341+00');
INSERT INTO memories VALUES ('83a4b7e8-71b3-511d-8b68-007cc1cd1ab3', 'The staging host of the shop listens on port 9090 since the proxy upgrade, behind Caddy with a certificate from the internal authority. Basic auth protects it. Only the office network and the VPN reach the staging host of the shop.', 'projects.shop.staging', 'c163644c-06d7-5bf1-b1da-89ea294f7533', NULL, 'historical', '{"suggested_tier": "historical", "volatility_class": "high"}', '2026-11-15 20:51:03.608038+00', '2026-11-16 20:51:03.911604+00');
INSERT INTO memories VALUES ('a0960eb5-2894-56b8-993a-8190ee624011', 'This week the checkout of the shop is frozen for the Black Friday campaign. Nobody merges changes to the payment module until the campaign has ended. Urgent fixes of the shop checkout need a second reviewer.', 'projects.shop.checkout', NULL, '2026-11-30 20:51:06.408791+00', 'canonical', '{"tags": ["freeze"], "ttl_days": 7, "suggested_tier": "ephemeral", "volatility_class": "high"}', '2026-11-18 20:51:04.231424+00', '2026-11-18 20:51:04.231424+00');
INSERT INTO memories VALUES ('375e4d23-fe53-58fa-9e3b-6903d0903468', '# Runbook of the shop: what to do when orders stop. This first part names the signals. The dashboard panel orders per minute falls to zero, the alert OrdersStalled fires, and customers of the shop write about missing confirmation mails.', 'projects.shop.runbook', NULL, NULL, 'canonical', '{"tags": ["incident"], "author": "Marta", "source": "docs/runbook.md", "suggested_tier": "canonical", "volatility_class": "low"}', '2026-11-20 20:51:04.442573+00', '2026-11-20 20:51:04.442573+00');
INSERT INTO memories VALUES ('7aac2b4f-12cb-54af-8a18-5004b17cded3', 'Step one for the shop on stalled orders: look at the consumers. `systemctl status shop-worker@{1..6}` shows which workers died. Restart them one after another and watch the backlog of the broker shrink before the next restart.', 'projects.shop.runbook', NULL, NULL, 'canonical', '{"tags": ["incident", "worker"], "author": "Marta", "source": "docs/runbook.md", "suggested_tier": "canonical", "volatility_class": "low"}', '2026-11-20 20:51:04.442573+00', '2026-11-20 20:51:04.442573+00');
INSERT INTO memories VALUES ('87afd627-f6f4-5667-847c-6c64bb9bcc9f', 'Aftercare in the shop: write the incident into the log with start, end, cause and the number of late orders. Send vouchers only after the shop owner agreed. Close the alert silence that was set during the work.', 'projects.shop.runbook.aftercare', NULL, NULL, 'canonical', '{"tags": ["incident"], "author": "Marta", "source": "docs/runbook.md", "suggested_tier": "canonical", "volatility_class": "low"}', '2026-11-20 20:51:04.442573+00', '2026-11-20 20:51:04.442573+00');
INSERT INTO memories VALUES ('f521a1d6-3d4e-50dd-9d75-6c12e632a001', 'Step two for the shop covers the payment provider. Ask the provider status page, then replay webhooks with `bin/replay --since 30m`. The replay is idempotent because the shop stores the provider event id with a unique index.', 'projects.shop.runbook', NULL, NULL, 'canonical', '{"tags": ["incident", "payment"], "author": "Marta", "source": "docs/runbook.md", "suggested_tier": "canonical", "volatility_class": "low"}', '2026-11-20 20:51:04.442573+00', '2026-11-20 20:51:04.442573+00');
INSERT INTO memories VALUES ('f8f5a7e2-ac61-51fb-8a19-2485e48e01f5', 'Step three is the database of the shop. A blocked migration shows in pg_stat_activity as wait_event_type Lock. Cancel the oldest blocked statement with pg_cancel_backend and never terminate the replication slot.', 'projects.shop.runbook', NULL, NULL, 'canonical', '{"tags": ["incident", "postgres"], "author": "Marta", "source": "docs/runbook.md", "suggested_tier": "canonical", "volatility_class": "low"}', '2026-11-20 20:51:04.442573+00', '2026-11-20 20:51:04.442573+00');
INSERT INTO memories VALUES ('f5461e3d-018b-55d4-abe3-6e2fecfbfab6', 'The newsletter of the shop goes out on Thursdays at ten through Brevo with a list of four thousand subscribers. Bounces are removed nightly. The template of the newsletter lives in the shop repository under mail/.', 'projects.shop.marketing.newsletter', '9c8e391c-df54-540c-aaa2-ec88f9e37066', NULL, 'canonical', '{"tags": ["mail"], "suggested_tier": "canonical", "volatility_class": "medium"}', '2026-11-21 20:51:04.674634+00', '2026-11-22 20:51:04.88468+00');
INSERT INTO memories VALUES ('928cb98a-9e91-5895-b615-b4717dec12a9', 'OVERLONG-EXTRACT Paste of an old chat about printers: the label printer in the warehouse speaks ZPL on port 9100, the office printer speaks IPP, and neither is reachable from the guest network. The paste ends in the middle of a', 'reference.hardware_notes.printers', NULL, NULL, 'canonical', '{"suggested_tier": "canonical", "volatility_class": "low"}', '2026-11-23 20:51:05.288009+00', '2026-11-25 20:51:05.858905+00');
INSERT INTO memories VALUES ('3e29d923-0af6-5eaa-9c9a-0490ad1561fd', 'Die Lagerverwaltung des Kunden Müller & Söhne heißt intern „Lagerfuchs“ 🦊 und läuft auf Windows Server 2019. Ansprechpartnerin ist Frau Groth, erreichbar bis 16 Uhr. Das Netz dort trennt Lager und Büro; Rückfragen immer schriftlich.', 'organizations.mueller_soehne', NULL, NULL, 'canonical', '{"tags": ["kunde", "kontakt"], "suggested_tier": "canonical", "volatility_class": "low"}', '2026-11-24 20:51:05.499343+00', '2026-11-27 20:51:06.094149+00');
INSERT INTO memories VALUES ('95788566-21cd-583d-908a-67e7208fbc0c', 'The fleet tracker customer tests the new geofence alerts until the end of the quarter. During the test every geofence alert is also mailed to the dispatcher. The fleet tracker keeps both alert paths until the customer signs off.', 'projects.fleet_tracker.alerts', NULL, NULL, 'canonical', '{"tags": ["geofence"], "ttl_days": 90, "suggested_tier": "canonical", "volatility_class": "high"}', '2026-11-25 08:51:05.714911+00', '2026-11-25 08:51:05.714911+00');
INSERT INTO memories VALUES ('942d3f00-6f22-5640-af87-ff5868221133', 'The on-call phone of the shop is with Rui for the next four weeks because Marta is travelling. Rui has access to the registry and to the Hetzner console. Marta stays reachable by mail for questions about the shop payment module.', 'projects.shop.oncall', NULL, NULL, 'historical', '{"tags": ["oncall"], "ttl_days": "30", "suggested_tier": "historical", "volatility_class": "high"}', '2026-11-30 18:27:06.229512+00', '2026-11-30 18:27:06.229512+00');
