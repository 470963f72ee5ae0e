import { notePrefix } from "../store/details.ts";

/** An operator's note in the annotation of a branch that it made. */
export interface BranchNote {
  /** The Branch object that the branch was made for, as `namespace/name`, if the note says. */
  object: string | undefined;
  /** The object's uid. */
  uid: string;
  /** The operator's fleet, if it has one. */
  fleet: string | undefined;
}

/** The note of an operator; `undefined` for a branch that somebody else made. */
export function noteOf({ annotations }: { annotations: Readonly<Record<string, string>> }): BranchNote | undefined {
  const uid = annotations[`${notePrefix}uid`];
  if (uid === undefined) return undefined;
  return { uid, object: annotations[`${notePrefix}object`], fleet: annotations[`${notePrefix}fleet`] };
}

/** The other values of a branch's annotation, such as those of a CI job. */
export function otherValues({ annotations }: { annotations: Readonly<Record<string, string>> }): [string, string][] {
  return Object.entries(annotations).filter(([name]) => !name.startsWith(notePrefix));
}
