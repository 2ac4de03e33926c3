"""What every use case needs: ports, records, services, visibility, waiting."""
