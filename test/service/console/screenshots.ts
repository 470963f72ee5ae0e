// Takes the pictures of the console that the documentation shows: npm run generate -- console
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stage, takePictures } from "./pictures.ts";
import { Site } from "./site.ts";

const images = join(import.meta.dirname, "..", "..", "..", "docs", "images");
mkdirSync(images, { recursive: true });

const service = stage();
await using site = await Site.open(service);
await takePictures(site, service, ({ file }, png) => writeFileSync(join(images, file), png));
