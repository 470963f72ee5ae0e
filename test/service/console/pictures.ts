import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Page } from "playwright-core";
import { script } from "../../../src/service/console/script.ts";
import { stylesheet } from "../../../src/service/console/stylesheet.ts";
import { TestService } from "../support/service.ts";
import { signatureOf } from "./signature.ts";
import type { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const project = "shiny-wind-028834";
const main = "br-aged-salad-637688";
const primary = "ep-quiet-river-a1b2c3d4";
const projectPath = `/app/projects/${project}`;
const hour = 3_600_000;

/** A picture of the console in `docs/images`. */
export interface Picture {
  file: string;
  /** The path of the page; `stage` is the service that it is of. */
  pathOn: (stage: TestService) => string;
  height: number;
  /** What is done on the page before the picture is taken. */
  prepare?(page: Page): Promise<void>;
}

/** The width of every picture, in pixels: one for each point, as on a plain screen. */
export const width = 1280;

export const pictures: readonly Picture[] = [
  { file: "console-home.png", pathOn: () => "/", height: 700 },
  { file: "console-project.png", pathOn: () => projectPath, height: 830 },
  { file: "console.png", pathOn: () => `${projectPath}/branches/${main}`, height: 700 },
  {
    file: "console-branch.png",
    pathOn: ({ core }) => `${projectPath}/branches/${core.context.store.branches.list(project)[1]?.id}`,
    height: 1060,
  },
  {
    file: "console-compute.png",
    pathOn: () => `${projectPath}/branches/${main}/computes/${primary}`,
    height: 900,
  },
];

/** The service that the pictures are of: the same on every machine, to the last id. */
export function stage(): TestService {
  const service = new TestService().applySeed({
    accounts: [
      {
        id: "acc-ana",
        email: "ana@example.com",
        name: "Ana",
        plan: "scale",
        apiKeys: [{ name: "ana", key: "ana-key" }],
      },
    ],
    organizations: [{ id: "org-shop", name: "Shop", plan: "scale", members: [{ account: "acc-ana", role: "admin" }] }],
    projects: [
      {
        id: project,
        name: "shop",
        owner: "org-shop",
        branches: [{ id: main, name: "main" }],
        endpoints: [
          { branchID: main, id: primary, type: "read_write", ...sized(0.25, 2) },
          { branchID: main, id: "ep-green-meadow-5e6f7a8b", type: "read_only", ...sized(1, 1) },
          { branchID: main, id: "ep-early-isle-9c0d1e2f", type: "read_only", ...sized(4, 8) },
        ],
      },
    ],
  });
  const connect = (id: string, seconds = 0) => {
    service.send(undefined, `POST /_connect/${id}?seconds=${seconds}`);
    service.time.pass(3000);
  };
  // A day: the primary serves from eight to seven, a replica joins at noon.
  service.time.pass(8 * hour);
  connect(primary, 11 * 3600);
  service.time.pass(4 * hour);
  connect("ep-green-meadow-5e6f7a8b", 2 * 3600);
  service.time.pass(3 * hour);
  const { status } = service.send("ana-key", `POST /projects/${project}/branches`, {
    branch: { name: "preview/pr-42", expires_at: "2026-01-04T12:00:00Z" },
    endpoints: [{ type: "read_write", ...sized(0.25, 1) }],
    annotation_value: {
      "compute-operator.dev/uid": "0d0c4b5e-11aa-4bbb-8ccc-0123456789ab",
      "compute-operator.dev/fleet": "previews",
      "compute-operator.dev/object": "shop/pr-42",
    },
  });
  if (status !== 201) throw new Error(`the branch was not made: ${status}`);
  service.core.settle();
  const [owned] = service.core.context.store.endpoints.list(project).slice(-1);
  service.send("ana-key", `PATCH /projects/${project}/endpoints/${owned?.id}`, {
    endpoint: { name: signatureOf("previews", "shop/pr-42") },
  });
  service.time.pass(3 * hour);
  connect("ep-early-isle-9c0d1e2f", 900);
  service.send("ana-key", `PATCH /projects/${project}/endpoints/${primary}`, { endpoint: sized(0.25, 4) });
  service.core.settle();
  return service;
}

function sized(min: number, max: number) {
  return { autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max };
}

/** A digest of what a picture shows now: the page of its path, the stylesheet, the script and the size. */
export function digestOf(picture: Picture, service: TestService): string {
  const path = picture.pathOn(service);
  const { status, html } = new Visitor(service.core).signIn("acc-ana").get(path);
  if (status !== 200) throw new Error(`${path} answers ${status}`);
  return digestOfPage(picture, html);
}

function digestOfPage({ height }: Picture, html: string): string {
  // Token and number differ with each session, and spaces are not seen.
  const page = html
    .replaceAll(/name="token" value="[^"]+"/g, "")
    .replace(/data-changes="\d+"/, "")
    .replaceAll(/\s+/g, " ");
  return createHash("sha256")
    .update(JSON.stringify([page, stylesheet.reply.body, script.reply.body, width, height]))
    .digest("hex");
}

/** Takes every picture, each with the digest of the page that the browser was given, and hands it on. */
export async function takePictures(
  site: Site,
  service: TestService,
  keep: (picture: Picture, png: Buffer) => void,
): Promise<void> {
  const { page } = site;
  await page.goto(site.address);
  await page.getByRole("button", { name: "Ana" }).click();
  for (const picture of pictures) {
    await page.setViewportSize({ width, height: picture.height });
    const answer = await page.goto(`${site.address}${picture.pathOn(service)}`);
    const html = (await answer?.text()) ?? "";
    await picture.prepare?.(page);
    keep(picture, withDigest(await page.screenshot(), digestOfPage(picture, html)));
  }
}

/** Of the text in a PNG that has the digest. */
const keyword = "compute-console-page\0";

/** A PNG that says in a text of its own what it shows. */
export function withDigest(png: Buffer, digest: string): Buffer {
  const body = Buffer.from(`tEXt${keyword}${digest}`, "latin1");
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  // After the header: a signature of 8 bytes and a first chunk of 25.
  return Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)]);
}

/** The digest of what a PNG shows; `undefined` if it was not taken by `takePictures`. */
export function digestIn(png: Buffer): string | undefined {
  return new RegExp(`tEXt${keyword}([0-9a-f]{64})`).exec(png.toString("latin1"))?.[1];
}

/** The size of a PNG in pixels. */
export function sizeOf(png: Buffer): { width: number; height: number } {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}
