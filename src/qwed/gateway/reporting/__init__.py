"""Reading the record: activity, search, overview, reports."""
