"""What a gate is made of besides its races: baselines that are records, memory and errors."""
