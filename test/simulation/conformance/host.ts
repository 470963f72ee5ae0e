import type { Cluster } from "./kube.ts";
import type { Widgets } from "./widget.ts";

/** What the suite runs on, created for each test. */
export interface Bench {
  cluster: Cluster;
  widgets: Widgets;
}

/** How one kind of cluster is had. */
export interface Host {
  /** A new namespace, on a cluster where widgets are served and the controllers run. */
  open(): Promise<Bench>;
  /** A definition of its own that a test may delete. */
  openOwnWidgets(): Promise<Bench>;
  /** A cluster that can be made to forget its history. */
  openForgetful(): Promise<Bench & { forgetHistory: () => Promise<void> }>;
}
