import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { main, primary, project, Shop } from "../support/shop.ts";
import { ForeignPages } from "./foreign-pages.ts";
import { Site } from "./site.ts";

const branch = `/app/projects/${project}/branches/${main}`;
const compute = `${branch}/computes/${primary}`;

/** The browser of a signed-in person, who also visits pages of somebody else. */
class Browsing implements AsyncDisposable {
  static async start(): Promise<Browsing> {
    const shop = new Shop({ faults: true });
    const browsing = new Browsing(shop, await Site.open(shop), await ForeignPages.start());
    await browsing.page.goto(browsing.address);
    await browsing.page.getByRole("button", { name: "ana@example.com" }).click();
    await browsing.page.getByRole("link", { name: "Projects" }).waitFor();
    return browsing;
  }

  readonly shop: Shop;
  readonly site: Site;
  readonly foreign: ForeignPages;

  private constructor(shop: Shop, site: Site, foreign: ForeignPages) {
    this.shop = shop;
    this.site = site;
    this.foreign = foreign;
  }

  get page(): Page {
    return this.site.page;
  }

  get address(): string {
    return this.site.address;
  }

  /** True if the person is still signed in, on a page that is opened anew. */
  async isSignedIn(): Promise<boolean> {
    await this.page.goto(this.address);
    return this.page.getByRole("button", { name: "Sign out" }).isVisible();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.site[Symbol.asyncDispose]();
    await this.foreign[Symbol.asyncDispose]();
  }
}

/** Another site, and another port of the same machine: browsers send it the cookies of ours. */
const origins = [
  ["another site", "evil.test"],
  ["another port of this machine", "127.0.0.1"],
] as const;

it.each(origins)("a page of %s reads nothing of the console and the API, and changes nothing", async (_, host) => {
  await using browsing = await Browsing.start();
  const { page, address, foreign, shop } = browsing;
  const before = JSON.stringify([shop.list(), shop.core.context.store.keys.ofAccount("acc-ana")]);
  await page.goto(`http://${host}:${foreign.port}/`);
  const read = await page.evaluate(`(async () => {
    const at = ${JSON.stringify(address)};
    const read = [];
    const asks = [];
    const type = "application/x-www-form-urlencoded";
    for (const mode of ["cors", "no-cors"])
      for (const [method, path, body] of [
        ["GET", "/"], ["GET", "/app/keys"], ["GET", ${JSON.stringify(`${compute}?password=shown`)}],
        ["POST", "/app/keys", "name=theft"], ["POST", ${JSON.stringify(`${compute}/delete`)}, ""],
        ["POST", "/app/sign-out", ""], ["POST", "/app/sign-in", "account=acc-eve"],
        ["GET", "/api/v2/projects"], ["POST", "/api/v2/api_keys", '{"key_name":"theft"}'],
        ["GET", "/_faults"], ["POST", "/_faults", "[]"], ["POST", ${JSON.stringify(`/_connect/${primary}`)}, ""],
      ]) {
        asks.push(fetch(at + path, { method, mode, credentials: "include", ...(body !== undefined && { body, headers: { "content-type": type } }) })
          .then((answer) => answer.text()).then((text) => text && read.push([mode, method, path, text.slice(0, 80)]), () => {}));
      }
    asks.push(new Promise((done) => {
      const stream = new EventSource(at + "/app/changes", { withCredentials: true });
      stream.addEventListener("changes", () => read.push("changes"));
      stream.addEventListener("error", () => { stream.close(); done(); });
    }));
    asks.push(new Promise((done) => {
      const socket = new WebSocket(at.replace("http", "ws") + "/app/changes");
      socket.addEventListener("open", () => read.push("socket"));
      socket.addEventListener("close", done);
    }));
    for (const path of ["/", ${JSON.stringify(compute)}, "/app/keys"]) {
      const frame = document.createElement("iframe");
      frame.src = at + path;
      asks.push(new Promise((done) => { frame.addEventListener("load", done); frame.addEventListener("error", done); }));
      document.body.append(frame);
    }
    for (const kind of ["script", "img", "link"]) {
      const element = document.createElement(kind);
      Object.assign(element, kind === "link" ? { rel: "stylesheet", href: at + "/app/keys" } : { src: at + "/app/keys" });
      element.addEventListener("load", () => read.push(kind));
      asks.push(new Promise((done) => { element.addEventListener("load", done); element.addEventListener("error", done); }));
      document.head.append(element);
    }
    await Promise.all(asks);
    return read;
  })()`);
  expect(read).toEqual([]);
  const frames = page.frames().slice(1);
  const shown = await Promise.all(frames.map((frame) => frame.content()));
  expect([frames.length, shown.filter((html) => html.includes("Compute console"))]).toEqual([3, []]);
  const after = JSON.stringify([shop.list(), shop.core.context.store.keys.ofAccount("acc-ana")]);
  expect([after, await browsing.isSignedIn()]).toEqual([before, true]);
});

it.each(origins)(
  "a form of %s that is sent as a page of its own changes nothing, and signs nobody in or out",
  async (_, host) => {
    await using browsing = await Browsing.start();
    const { page, address, foreign, shop } = browsing;
    const before = JSON.stringify(shop.list());
    for (const [path, fields] of [
      [`${compute}/delete`, ""],
      ["/app/sign-out", ""],
      ["/app/sign-in", '<input name="account" value="acc-eve">'],
    ] as const) {
      foreign.html = `<form method="post" action="${address}${path}">${fields}<button>Win a prize</button></form>`;
      await page.goto(`http://${host}:${foreign.port}/`);
      await page.getByRole("button").click();
      await page.getByText("This form was sent from another site").waitFor();
      expect([path, JSON.stringify(shop.list()), await browsing.isSignedIn()]).toEqual([path, before, true]);
      expect(await page.getByText("ana@example.com").first().isVisible()).toBe(true);
    }
  },
);

it.each(origins)("a link of %s leads a person who is signed in to its page, and keeps the session", async (_, host) => {
  await using browsing = await Browsing.start();
  const { page, address, foreign } = browsing;
  foreign.html = `<a href="${address}${branch}?search=shop">the branch</a>`;
  await page.goto(`http://${host}:${foreign.port}/`);
  await page.getByRole("link").click();
  await page.getByRole("heading", { name: "main" }).waitFor();
  expect(page.url()).toBe(`${address}${branch}?search=shop`);
  expect(await browsing.isSignedIn()).toBe(true);
});

it("a link of another site leads a person who is not signed in to sign in, and then to its page", async () => {
  await using browsing = await Browsing.start();
  const { page, address, foreign } = browsing;
  await page.getByRole("button", { name: "Sign out" }).click();
  foreign.html = `<a href="${address}${branch}">the branch</a>`;
  await page.goto(`http://evil.test:${foreign.port}/`);
  await page.getByRole("link").click();
  await page.getByRole("button", { name: "ana@example.com" }).click();
  await page.getByRole("heading", { name: "main" }).waitFor();
  expect(page.url()).toBe(`${address}${branch}`);
});

it.each(origins)("a page of %s that opens the console in a window of its own holds nothing of it", async (_, host) => {
  await using browsing = await Browsing.start();
  const { page, address, foreign } = browsing;
  foreign.html = `<button onclick="other = window.open('${address}/app/keys')">open</button>`;
  await page.goto(`http://${host}:${foreign.port}/`);
  const opening = page.waitForEvent("popup").catch(() => undefined);
  await page.getByRole("button").click();
  const popup = await opening;
  await popup?.waitForLoadState();
  await expect.poll(() => page.evaluate("other.closed")).toBe(true);
  expect(await popup?.evaluate("opener")).toBeNull();
});

it("a name of somebody else that leads to this machine is given no account and no answer without a key", async () => {
  await using browsing = await Browsing.start();
  const { page, address, shop } = browsing;
  const port = new URL(address).port;
  await page.goto(`http://rebound.test:${port}/`);
  expect(await page.getByText("example.com").count()).toBe(0);
  const statuses = await page.evaluate(`(async () => {
    const statusOf = (path, options) => fetch(path, options).then(({ status }) => status);
    return [
      await statusOf("/api/v2/projects"), await statusOf("/_faults"), await statusOf("/_connect/${primary}", { method: "POST" }),
      await statusOf("/app/keys"), await statusOf("/app/changes"),
      await statusOf("/app/sign-in", { method: "POST", body: new URLSearchParams({ account: "acc-ana", token: document.querySelector("[name=token]").value }) }),
    ];
  })()`);
  expect(statuses).toEqual([401, 403, 403, 401, 401, 403]);
  expect(shop.get(primary).current_state).toBe("idle");
});
