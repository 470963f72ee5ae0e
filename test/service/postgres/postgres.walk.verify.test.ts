import { expect, it } from "vitest";
import { seededRandom } from "../../simulation/random.ts";
import { main, PostgresRig, primary, project } from "./rig.ts";
import { kinds, Walker } from "./walk/walker.ts";

const plan = "scale";
const members = [{ account: "acc-ana", role: "admin" }];

const seed = {
  accounts: [{ id: "acc-ana", email: "ana@example.com", plan, apiKeys: [{ name: "laptop", key: "ana-key" }] }],
  organizations: ["org-a", "org-b"].map((id) => ({ id, plan, members })),
  projects: [
    {
      id: project,
      owner: "org-a",
      branches: [
        { id: main, name: "main", default: true, roles: ["app"], databases: [{ name: "stock", owner: "app" }] },
      ],
      endpoints: [{ id: primary, branchID: main, type: "read_write", autoscaling_limit_max_cu: 1 }],
    },
  ],
};

const steps = 30;

it("thirty changes at random, with kills amid them, leave each branch with the rows, roles, passwords and databases of a model", async () => {
  await using rig = await PostgresRig.start(["--branch-recovery"], seed);
  const random = seededRandom(2);
  const walker = new Walker(rig, random);
  await walker.begin();
  await walker.look();
  const deck = Object.entries(kinds).flatMap(([kind, part]) => Array.from({ length: part }, () => kind));
  for (let step = 0; step < steps && walker.problems.length === 0; step += 1) {
    await walker.step(deck[Math.floor(random() * deck.length)] ?? "write");
    await walker.look();
  }
  expect([walker.problems, walker.problems.length > 0 ? walker.log : []]).toEqual([[], []]);
}, 1_800_000);
