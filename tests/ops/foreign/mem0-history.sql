CREATE TABLE history (
    id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id, role
);
INSERT INTO history VALUES ('49182e37-be35-468c-9aff-e5b7c1dc7a06', 'e617e139-aac9-4a93-88d6-0d313d37099f', NULL, 'The queue runs on RabbitMQ.', 'ADD', '2026-11-30T06:37:24.748654+00:00', '2026-11-30T06:37:24.748654+00:00', 0, NULL, 'user');
INSERT INTO history VALUES ('d18b75a6-8639-4fbf-9c6c-64fc383353da', '6dc1f13e-7e8d-4ca8-8c80-a32f386e828c', NULL, 'Deploys go out on Tuesdays.', 'ADD', '2026-11-30T06:37:24.776671+00:00', '2026-11-30T06:37:24.776671+00:00', 0, NULL, 'user');
INSERT INTO history VALUES ('a6d76acd-f5f3-48e4-8726-d9765ec3382b', '94cbe233-6353-4b2f-bcb5-366572937ca7', NULL, 'Lunch is at noon.', 'ADD', '2026-11-30T06:37:24.816628+00:00', '2026-11-30T06:37:24.816628+00:00', 0, NULL, 'user');
INSERT INTO history VALUES ('6ba6252a-6171-4a8b-8076-2c6f69caeaee', 'b5d78fbe-be39-44d1-bcdc-4e1b8d187ea7', NULL, 'The certificate is renewed by hand.', 'ADD', '2026-11-30T06:37:24.852665+00:00', '2026-11-30T06:37:24.852665+00:00', 0, NULL, 'user');
INSERT INTO history VALUES ('3900ab0f-f4a4-4d6c-8b6b-038d949e5b26', 'e617e139-aac9-4a93-88d6-0d313d37099f', 'The queue runs on RabbitMQ.', 'The queue runs on PostgreSQL.', 'UPDATE', '2026-11-30T06:37:24.748654+00:00', '2026-11-30T06:37:24.896249+00:00', 0, NULL, 'user');
INSERT INTO history VALUES ('9c8dcbc3-596f-49ad-99be-3c6b6108a43b', '94cbe233-6353-4b2f-bcb5-366572937ca7', 'Lunch is at noon.', NULL, 'DELETE', '2026-11-30T06:37:24.816628+00:00', '2026-11-30T06:37:24.925142+00:00', 1, NULL, 'user');
