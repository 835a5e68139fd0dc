"""The benchmark harness: what to compare (registry), who answers (peers), how to run (process), in which order (session),
what it means (statistics, bars) and how it is shown (report, plot)."""
