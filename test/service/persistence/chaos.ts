import { crash } from "./crashes.ts";

const count = Number(process.argv[2] ?? 1000);
const { answered, problems } = await crash(count, (done, writes, found) => {
  if (done % 50 === 0) console.log(`${done} of ${count} crashes, ${writes} answered writes, ${found.length} problems`);
});
for (const problem of problems) console.error(problem);
console.log(`${count} crashes, ${answered} answered writes, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
