import { expect, it } from "vitest";
import { startBrowser } from "../service/console/chromium.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { ServiceProcess } from "../support/processes.ts";
import { sampleBaseURL, samplesFor } from "./samples.ts";
import { toPlayWith } from "./to-play-with.ts";

it("the console that the demo prints takes its own forms, through the counter", async () => {
  await using service = await ServiceProcess.start({ seed: samplesFor(sampleBaseURL).seed });
  await using counter = await CountingProxy.start(service);
  const printed = toPlayWith({ kubeconfig: "", binaries: { kubectl: "kubectl" } }, counter.baseURL, "");
  const url = /console: (\S+);/.exec(printed)?.[1] ?? "";
  await using browser = await startBrowser();
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(url);
  // Signing in is a form too.
  await page.getByRole("button").first().click();
  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  await page.getByRole("link", { name: "shop", exact: true }).click();
  await page.getByRole("link", { name: "main", exact: true }).click();
  const form = page.getByRole("form", { name: /^Change ep-/ });
  await form.getByLabel("to", { exact: true }).selectOption({ label: "2" });
  await form.getByRole("button").click();
  expect(await page.getByRole("status").textContent()).toContain("has 1–2 vCPU.");
  expect(counter.writes.every(({ status }) => status === 303)).toBe(true);
});
