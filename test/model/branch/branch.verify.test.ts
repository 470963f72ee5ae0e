import { expect, test } from "vitest";
import { configurations } from "./configurations.ts";
import { searched } from "./search.ts";

test.each(configurations(3, 3))(
  "no path of three happenings breaks a promise of Branches, and all ends well: $name",
  async (configuration) => {
    const { paths, reconciles, violation } = await searched(configuration);
    console.log(`${configuration.name}: ${paths} paths, ${reconciles} reconciles`);
    expect(violation).toBeUndefined();
    expect(paths).toBeGreaterThan(5000);
  },
);
