"""What an ensemble of submissions is fitted on, and with: members, columns, a learner."""
