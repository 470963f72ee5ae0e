import { expect, test } from "vitest";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

const secret = (database: string, role: string) => `connectionSecret: {name: s, database: ${database}, role: ${role}}`;
const text = (database: string, role: string) => documents(connection, compute("a", secret(database, role)));
const calls = (stage: Stage) => {
  const asked: string[] = [];
  stage.rewrite = ({ path }, response) => {
    if (path.endsWith("/connection_uri")) asked.push(path);
    return response;
  };
  return asked;
};

test.each([
  ["nothing", "neondb", "neondb_owner", []],
  ["the role", "neondb", "nobody", ['role "nobody"']],
  ["the database", "nothing", "neondb_owner", ['database "nothing"']],
])(
  "plan warns of %s of a connection Secret that the service does not have, by one call",
  async (_, database, role, named) => {
    using stage = new Stage();
    const path = stage.file("a.yaml", text(database, role));
    await stage.run("apply", ["-f", path, "--yes"]);
    const asked = calls(stage);
    const run = await stage.run("plan", ["-f", path]);
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(asked).toHaveLength(1);
    const warnings = run.out.split("\n").filter((line) => line.startsWith("? "));
    expect(warnings).toEqual(
      named.map((each) => expect.stringContaining(`? shop/a  warning  Branch br-preview-1 has no ${each}`)),
    );
    expect(run.out).not.toContain("postgresql://");
  },
);

test("plan asks for no database before there is an endpoint, and apply never", async () => {
  using stage = new Stage();
  const asked = calls(stage);
  const path = stage.file("a.yaml", text("nothing", "nobody"));
  await stage.run("plan", ["-f", path]);
  await stage.run("apply", ["-f", path, "--yes"]);
  expect(asked).toEqual([]);
});

test.each(["markdown", "json"])(
  "plan warns in %s too, and of no database where the call is missing",
  async (output) => {
    using stage = new Stage();
    const path = stage.file("a.yaml", text("nothing", "neondb_owner"));
    await stage.run("apply", ["-f", path, "--yes"]);
    const run = await stage.run("plan", ["-f", path, "--output", output]);
    expect(run.out).toContain("as spec.connectionSecret names it");
    stage.rewrite = ({ path: asked }, response) =>
      asked.endsWith("/connection_uri")
        ? { status: 404, body: { code: "", message: "this route does not exist", request_id: "" }, json: true }
        : response;
    expect((await stage.run("plan", ["-f", path, "--output", output])).out).not.toContain("spec.connectionSecret");
  },
);
