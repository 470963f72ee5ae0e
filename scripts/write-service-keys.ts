import { writeFileSync } from "node:fs";
import { keysDocument } from "../test/service/keys/table.ts";

writeFileSync("docs/service-keys.md", keysDocument());
