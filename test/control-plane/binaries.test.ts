import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../support/guardian.ts";
import { cacheDirectory, findBinaries } from "./binaries.ts";
import { type BinaryName, type BinarySource, binaryNames } from "./binary.ts";

let home: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  home = temporaryDirectory("binaries");
});
afterEach(() => home.remove());

const silent = () => undefined;

function put(directory: string, names: readonly BinaryName[]): void {
  mkdirSync(directory, { recursive: true });
  for (const name of names) {
    writeFileSync(join(directory, name), "#!/bin/sh\n");
    chmodSync(join(directory, name), 0o755);
  }
}

/** A source that has some binaries and writes down what it was asked for. */
function source(has: readonly BinaryName[]): BinarySource & { asked: BinaryName[][] } {
  const asked: BinaryName[][] = [];
  return {
    asked,
    fetch(wanted, directory) {
      asked.push([...wanted]);
      const given = wanted.filter((name) => has.includes(name));
      put(directory, given);
      return Promise.resolve(`had ${given.length}`);
    },
  };
}

describe("findBinaries", () => {
  it("takes what KUBEBUILDER_ASSETS holds and asks nobody", async () => {
    const assets = join(home.path, "assets");
    put(assets, binaryNames);
    const [download, build] = [source([]), source([])];
    const env = { HOME: home.path, KUBEBUILDER_ASSETS: assets };
    const found = await findBinaries({ env, progress: silent, download, build });
    expect(found.etcd).toBe(join(assets, "etcd"));
    expect([...download.asked, ...build.asked]).toEqual([]);
  });

  it("downloads what is missing, builds what cannot be downloaded, and finds both in the cache the next time", async () => {
    const env = { HOME: home.path };
    const download = source(["etcd", "kube-apiserver", "kubectl"]);
    const build = source(binaryNames);
    const first = await findBinaries({ env, progress: silent, download, build });
    expect(build.asked).toEqual([["kube-controller-manager"]]);
    const second = await findBinaries({ env, progress: silent, download, build });
    expect(second).toEqual(first);
    expect(download.asked).toHaveLength(1);
  });

  it("lets runs side by side fill one cache without ever showing half a binary", async () => {
    const env = { HOME: home.path };
    const slow: BinarySource = {
      async fetch(wanted, directory) {
        for (const name of wanted) writeFileSync(join(directory, name), "half", { mode: 0o755 });
        await setImmediate();
        for (const name of wanted) writeFileSync(join(directory, name), "whole", { mode: 0o755 });
        return "both";
      },
    };
    const run = () => findBinaries({ env, progress: silent, download: slow, build: source([]) });
    const found = await Promise.all([run(), run(), run()]);
    for (const name of binaryNames)
      expect(found.map((paths) => readFileSync(paths[name], "utf8"))).toEqual(Array(3).fill("whole"));
    expect(readdirSync(cacheDirectory(env)).toSorted()).toEqual([...binaryNames].toSorted());
  });

  it("keys the cache by version and platform, below XDG_CACHE_HOME where it is set", () => {
    const platform = `${process.platform}-${process.arch}`;
    const name = new RegExp(`^/cache/compute-operator/control-plane/v1\\.36\\.\\d+-${platform}$`);
    expect(cacheDirectory({ HOME: "/home/ana", XDG_CACHE_HOME: "/cache" })).toMatch(name);
    expect(cacheDirectory({ HOME: "/home/ana" })).toMatch(/^\/home\/ana\/\.cache\/compute-operator\//);
  });

  it("names all four ways and what to do where none works", async () => {
    const options = { env: { HOME: home.path }, progress: silent, download: source([]), build: source(["etcd"]) };
    const error = await findBinaries(options).then(
      () => "found",
      (failure: unknown) => String(failure),
    );
    expect(error).toContain("have no kube-apiserver, kubectl, kube-controller-manager");
    expect(error).toMatch(
      /1\. KUBEBUILDER_ASSETS is not set\n {2}2\. cache: .*\n {2}3\. download: had 0\n {2}4\. build: had 1/,
    );
    expect(error).toContain("Set KUBEBUILDER_ASSETS");
  });
});
