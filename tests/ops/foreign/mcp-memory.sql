CREATE TABLE memories (tenant_id text, id text, content text, memory_type text, category text, tags text[], created_at
    timestamptz, scope text, conversation text, trust_base float8, access_count bigint, last_accessed_at timestamptz);
INSERT INTO memories VALUES ('fleet.tracker-2', '01M1QRWMFYX8KQGW6R9R46WY1F', 'Vehicle positions arrive over MQTT at fleet-broker:8883 every fifteen seconds.', 'project', 'ingest', '{mqtt}', '2026-09-05 03:13:13.214+00', 'project', NULL, '1', '0', NULL);
INSERT INTO memories VALUES ('fleet.tracker-2', '01M1RGZHEDNTMCV9J6CT70ARNM', 'Dispatchers get every geofence alert by mail until the customer signs off.', 'conversation', NULL, '{geofence,mail}', '2026-09-05 10:14:14.221+00', 'project', 'api-key-9/run-1', '1', '1', '2026-09-07 04:20:20.263+00');
INSERT INTO memories VALUES ('fleet.tracker-2', '01M1S92ECWYDQQNE77DDRSCWTF', 'The customer''s test vehicle is number 17 during this run.', 'project', NULL, '{}', '2026-09-05 17:15:15.228+00', 'conversation', 'api-key-9/run-1', '1', '0', NULL);
INSERT INTO memories VALUES ('fleet.tracker-2', '01M1T15BBBBNFKF755KVC4EDDJ', 'Partition size of positions: one table per month, see https://www.postgresql.org/docs/17/ddl-partitioning.html', 'reference', NULL, '{postgres}', '2026-09-06 00:16:16.235+00', 'project', NULL, '1', '0', NULL);
INSERT INTO memories VALUES ('shop', '01M1EQSS2ATA4ZNQV09V3FE2CQ', 'The shop stores money as integer cents in PostgreSQL; floating point lost 0.01 EUR in refunds.', 'project', 'decision', '{money,postgres}', '2026-09-01 15:01:01.13+00', 'project', NULL, '1', '5', '2026-09-08 01:23:23.284+00');
INSERT INTO memories VALUES ('shop', '01M1FFWP0SGBP5VPSY5YZBE93T', 'Run `bin/replay --since 30m` to replay payment webhooks; it is idempotent.

```sh
bin/replay --since 30m
```', 'pattern', NULL, '{payment,runbook}', '2026-09-01 22:02:02.137+00', 'project', NULL, '1', '1', '2026-09-06 21:19:19.256+00');
INSERT INTO memories VALUES ('shop', '01M1G7ZJZ8950C9AEWCP526ZW8', 'Brevo API limits: https://developers.brevo.com/docs/api-limits', 'reference', 'newsletter', '{}', '2026-09-02 05:03:03.144+00', 'project', NULL, '1', '0', NULL);
INSERT INTO memories VALUES ('shop', '01M1H02FXQQVEQ9EBTHVGFFE1B', 'Marta wants short answers with the command first.', 'conversation', 'preference', '{style}', '2026-09-02 12:04:04.151+00', 'project', 'slack:C0492/1725177600.000200', '1', '0', NULL);
INSERT INTO memories VALUES ('shop', '01M1HR5CW60AG1037V958KNGPW', 'In this thread we call the blue host ''old'' and the green host ''new''.', 'conversation', NULL, '{naming}', '2026-09-02 19:05:05.158+00', 'conversation', 'slack:C0492/1725177600.000200', '1', '0', NULL);
INSERT INTO memories VALUES ('shop', '01M1JG89TNARK3XFV0ZNFX5B3K', 'Deployments of the shop wait for the checkout freeze to end on Monday.', 'project', 'deployment', '{}', '2026-09-03 02:06:06.165+00', 'project', 'slack:C0492/1725177600.000200', '1', '1', '2026-09-06 14:18:18.249+00');
INSERT INTO memories VALUES ('shop', '01M1K8B6S4B704N4KA1H4X884P', 'Draft of the migration note goes into docs/migrate.md, not into the wiki.', 'pattern', NULL, '{}', '2026-09-03 09:07:07.172+00', 'conversation', 'a2a-ctx%20#41', '1', '0', NULL);
INSERT INTO memories VALUES ('shop', '01M1M0E3QKF0HSSFPZ33Q0KTPE', '결제 모듈의 재시도 간격은 5초이며 최대 5회까지 시도한다 — “dead letter” 큐는 월요일에 확인.', 'project', '결제', '{결제,retry,retry}', '2026-09-03 16:08:08.179+00', 'project', 'a2a-ctx%20#41', '1', '4', '2026-09-08 01:23:23.284+00');
INSERT INTO memories VALUES ('shop', '01M1MRH0P23ZT4XXG8EZDE28GD', 'no type given: the label printer speaks ZPL on port 9100', 'project', NULL, '{}', '2026-09-03 23:09:09.186+00', 'project', NULL, '1', '3', '2026-09-08 01:23:23.284+00');
