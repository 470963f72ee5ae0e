import { CommandProblem } from "../commands/ports.ts";
import type { Programs } from "../commands/programs.ts";
import type { ManifestText } from "./documents.ts";

/** Programs that build a kustomization, the first that is there counts: kubectl may hold an older kustomize. */
const builders = [
  ["kustomize", "build"],
  ["kubectl", "kustomize"],
] as const;

/** Builds the kustomization of a directory, as `-k` of kubectl. Throws `CommandProblem`. */
export async function built(directory: string, programs: Programs): Promise<ManifestText> {
  for (const [program, verb] of builders) {
    // The second is asked only if the first is not there.
    const ended = await programs.run(program, [verb, directory]);
    if (ended === undefined) continue;
    if (ended.status !== 0) {
      const said = ended.stderr.trim();
      throw new CommandProblem([`-k ${directory}: ${program} ${verb} ends with status ${ended.status}: ${said}`]);
    }
    return { file: `${program} ${verb} ${directory}`, found: true, text: ended.stdout };
  }
  throw new CommandProblem([
    `-k ${directory}: a kustomization is built by kustomize or kubectl, and neither is on the PATH. Install one of them, or build it elsewhere and hand it over with -f -`,
  ]);
}

/** A sentence about the kustomizations in these directories, which `-f` reads file by file; `undefined` for none. */
export function unbuilt(directories: readonly string[]): string | undefined {
  const [first] = directories;
  if (first === undefined) return undefined;
  const holds = directories.length === 1 ? "holds a kustomization" : "hold kustomizations";
  return `${directories.join(", ")} ${holds}, and -f reads the files without building it: -k ${first} plans what it makes`;
}
