"""Telling people: what the record says is to be delivered is carried out of the house, until it arrives."""
