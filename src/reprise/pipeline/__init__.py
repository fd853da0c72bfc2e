"""What `reprise` and make do: which chapters are stale, run them, build, verify, accept."""
