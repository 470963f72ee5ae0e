// Writes crds/*.yaml from the zod schemas. A check in `npm test` fails while the files differ from them.
import { writeFileSync } from "node:fs";
import { crdYaml, customResourceDefinitions } from "../src/operator/resources/crd.ts";

for (const definition of customResourceDefinitions()) {
  const [plural] = definition.metadata.name.split(".");
  writeFileSync(`crds/${plural}.yaml`, crdYaml(definition));
}
