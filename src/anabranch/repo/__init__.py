"""The verbs: one file each, showing read, plan, run, publish. The only room that conducts the others."""
