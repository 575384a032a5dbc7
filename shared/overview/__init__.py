"""What people look at: projects, pages of memories, the life of one, conflicts and activity, bounded and read-only."""
