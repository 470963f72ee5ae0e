import type { Browser, Locator, Page } from "playwright-core";
import { listen } from "../../../src/service/http/server.ts";
import { realClock } from "../../support/real-clock.ts";
import type { TestService } from "../support/service.ts";
import { startBrowser } from "./chromium.ts";

/** A service that listens, and a real browser that looks at it. */
export class Site implements AsyncDisposable {
  /** Without a slash at its end. */
  readonly address: string;
  readonly page: Page;
  /** What the browser asked for that is not ours, and what it complained about. */
  readonly complaints: string[];
  readonly #browser: Browser;
  readonly #close: () => Promise<void>;

  static async open(service: TestService, colorScheme: "light" | "dark" = "light"): Promise<Site> {
    const browser = await startBrowser();
    service.time.timers = realClock;
    const listening = await listen(service.core, { host: "127.0.0.1", port: 0 });
    const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 });
    return new Site(`http://127.0.0.1:${listening.port}`, page, browser, () => listening.close());
  }

  private constructor(address: string, page: Page, browser: Browser, close: () => Promise<void>) {
    this.address = address;
    this.page = page;
    this.#browser = browser;
    this.#close = close;
    const complaints: string[] = [];
    this.complaints = complaints;
    page.setDefaultTimeout(60_000);
    page.on("request", (request) => {
      if (!request.url().startsWith(`${address}/`)) complaints.push(`request of ${request.url()}`);
    });
    page.on("console", (message) =>
      complaints.push(`${message.location().url.slice(address.length)}: ${message.text()}`),
    );
    page.on("pageerror", (error) => complaints.push(error.message));
  }

  /** Waits for this, and presses Tab until it has the focus; rejects where no number of times gets there. */
  async tabTo(target: Locator): Promise<void> {
    // The page before may still be there, and Tab would go round on it.
    await target.waitFor();
    const focused = this.page.locator(":focus").and(target);
    for (let presses = 0; presses < 100; presses++) {
      if ((await focused.count()) === 1) return;
      await this.page.keyboard.press("Tab");
    }
    throw new Error("100 times Tab did not lead to what was looked for");
  }

  /** Goes there with Tab, and presses Enter. */
  async enter(target: Locator): Promise<void> {
    await this.tabTo(target);
    await this.page.keyboard.press("Enter");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.#close();
  }
}
