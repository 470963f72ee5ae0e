import type { BaseImage } from "./base-images.ts";
import type { Commit } from "./commit.ts";

export interface ReleaseOptions {
  /** Where the image and the chart will lie, for example `registry.example.com/databases`. */
  readonly registry: string;
  /** Directory of the release; default `dist`. */
  readonly output: string;
  /** Where the files of the release will be downloaded from. */
  readonly downloadURL?: string | undefined;
  /** Also of a clone with changes that are in no commit. */
  readonly uncommitted: boolean;
  /** Base images of an earlier run, for a run that is to give the same bytes; absent: asked of their registries. */
  readonly baseImages?: readonly BaseImage[];
}

/** Input of every part of a release. */
export interface Making extends ReleaseOptions {
  readonly version: string;
  readonly commit: Commit;
  /** Directory for files on their way, which a part creates and removes. */
  readonly staging: string;
}
