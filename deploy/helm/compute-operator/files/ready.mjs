// `helm test`: ends with 0 once a replica answers with its metrics, and with 1 after a minute.
const { METRICS_URL: url = "", TRIES: tries = "20" } = process.env;
for (let left = Number(tries); left > 0; left -= 1) {
  const text = await fetch(url, { signal: AbortSignal.timeout(3000) })
    .then((response) => response.text())
    .catch((error) => String(error));
  if (/^compute_operator_leader /m.test(text)) {
    process.stdout.write(`${url} answers: a replica is ready.\n`);
    process.exit(0);
  }
  process.stderr.write(`${url} does not answer with the operator's metrics: ${text.slice(0, 200)}\n`);
  if (left > 1) await new Promise((resolve) => setTimeout(resolve, 3000));
}
process.exit(1);
