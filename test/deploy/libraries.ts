import { execFileSync } from "node:child_process";

/** The shared libraries that a program is loaded with: in an image they come with its base. */
export function librariesOf(program: string): string[] {
  const listing = execFileSync("ldd", [program], { encoding: "utf8" });
  return [...listing.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = ""]) => path);
}
