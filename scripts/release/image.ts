import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeArchive } from "./archive.ts";
import type { Making } from "./making.ts";
import { builtLayout } from "./oci-layout.ts";
import type { Run } from "./programs.ts";

const platforms = "linux/amd64,linux/arm64";

/** One image to build. */
interface Build {
  readonly reference: string;
  readonly dockerfile: string;
  readonly directory: string;
  /** Directory for the OCI layout of the image. */
  readonly layout: string;
  readonly version: string;
  /** Seconds since 1970 that every layer and file bears. */
  readonly epoch: number;
}

/** A program that builds images. */
interface Builder {
  readonly name: string;
  /** Succeeds where the builder can be used. */
  readonly probe: readonly [program: string, ...args: string[]];
  /** The commands of a build, in their order. */
  commands(build: Build): ReadonlyArray<readonly [program: string, ...args: string[]]>;
}

/** Podman and Buildah take the same commands: they build into a list of images, and write that. */
const withManifestList = (program: string): Builder => ({
  name: program,
  probe: [program, "info"],
  commands: ({ reference, dockerfile, layout, version, epoch }) => [
    [
      program,
      "build",
      `--platform=${platforms}`,
      `--manifest=${reference}`,
      `--timestamp=${epoch}`,
      `--file=${dockerfile}`,
      ".",
    ],
    [program, "manifest", "push", "--all", reference, `oci:${layout}:${version}`],
    [program, "manifest", "rm", reference],
  ],
});

/** In the order in which they are tried. */
const builders: readonly Builder[] = [
  {
    name: "docker buildx",
    probe: ["docker", "buildx", "inspect", "--bootstrap"],
    commands: ({ reference, dockerfile, layout, epoch }) => [
      [
        "docker",
        "buildx",
        "build",
        `--platform=${platforms}`,
        `--build-arg=SOURCE_DATE_EPOCH=${epoch}`,
        "--provenance=false",
        "--sbom=false",
        `--output=type=oci,tar=false,dest=${layout},name=${reference},rewrite-timestamp=true`,
        `--file=${dockerfile}`,
        ".",
      ],
    ],
  },
  {
    name: "buildctl",
    probe: ["buildctl", "debug", "workers"],
    commands: ({ reference, directory, layout, epoch }) => [
      [
        "buildctl",
        "build",
        "--frontend=dockerfile.v0",
        "--local=context=.",
        `--local=dockerfile=${directory}`,
        `--opt=platform=${platforms}`,
        `--opt=build-arg:SOURCE_DATE_EPOCH=${epoch}`,
        `--output=type=oci,tar=false,dest=${layout},name=${reference},rewrite-timestamp=true`,
      ],
    ],
  },
  withManifestList("podman"),
  withManifestList("buildah"),
];

/** The archive of the image, or why there is none. */
export type Built = { readonly file: string } | { readonly missing: string };

/** Builds the image for both platforms with the first builder that is there. Throws where that one fails. */
export async function makeImage(making: Making, dockerfile: string, run: Run): Promise<Built> {
  const { output, staging, registry, version, commit } = making;
  const file = `compute-operator-image-${version}.oci.tar`;
  const lacking: string[] = [];
  for (const builder of builders) {
    const [program, ...args] = builder.probe;
    const probed = await run(program, args);
    if (probed?.status !== 0) {
      lacking.push(`${builder.name}: ${probed === undefined ? "not on the PATH" : lastLine(probed.stderr)}`);
      continue;
    }
    mkdirSync(staging, { recursive: true });
    writeFileSync(join(staging, "Dockerfile"), dockerfile);
    const build: Build = {
      reference: `${registry}/compute-operator:${version}`,
      dockerfile: join(staging, "Dockerfile"),
      directory: staging,
      layout: join(staging, "layout"),
      version,
      epoch: commit.time.getTime() / 1000,
    };
    for (const [command, ...words] of builder.commands(build)) {
      const ended = await run(command, words);
      if (ended?.status === 0) continue;
      throw new Error(`${builder.name} cannot build the image: ${lastLine(ended?.stderr ?? "it is gone")}`);
    }
    const options = { staging: `${staging}-image`, output: join(output, file), time: commit.time, compressed: false };
    writeArchive(builtLayout(build.layout, version), options);
    rmSync(staging, { recursive: true });
    return { file };
  }
  return { missing: `no builder can be used (${lacking.join("; ")}). Install one of them and run this again` };
}

function lastLine(said: string): string {
  return said.trim().split("\n").at(-1) || "no output";
}
