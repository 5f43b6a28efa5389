"""What each view of the page shows: functions from a log and parameters to values. No HTTP."""
