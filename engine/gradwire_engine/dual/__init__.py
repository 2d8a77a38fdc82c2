"""Values with a tangent, and how every op applies to them: what forward mode is made of."""
