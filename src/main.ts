#!/usr/bin/env node
process.exitCode = 1;
process.stderr.write("compute-operator: nothing to run yet\n");
