// Writes every file that is worked out from another: `npm run generate`. A test fails while one of them differs.
import { writeFileSync } from "node:fs";
import { generatedFiles } from "./generated-files.ts";

for (const [path, content] of await generatedFiles()) writeFileSync(path, content);
