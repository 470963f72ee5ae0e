import { readFileSync } from "node:fs";

// Roles and admission policies stand once, in deploy/base. The chart's templates take their text from there: a policy
// whole, of a role its rules.

const templates = "deploy/helm/compute-operator/templates";
const fullname = '{{ include "compute-operator.fullname" . }}';
const labels = '  labels:\n    {{- include "compute-operator.labels" . | nindent 4 }}\n';

/** Policies by the name of their template, with the value of the chart that installs them. */
const policies = {
  "access-labels": "accessLabelPolicy",
  annotations: "annotationPolicy",
  "deletion-protection": "deletionProtection",
};

/** Files of deploy/base/shared/rbac that hold roles. */
const roles = ["operator", "secrets", "cluster-connections", "definitions", "leader-election", "people"];

/** The chart's templates that are worked out from deploy/base, by path. */
export function templatesFromBase(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const [name, value] of Object.entries(policies)) files.set(`${templates}/${name}.yaml`, policy(name, value));
  files.set(`${templates}/rbac.yaml`, rbac());
  return files;
}

function policy(name: string, value: string): string {
  const base = readFileSync(`deploy/base/${name}/policy.yaml`, "utf8").replace(/^(#.*\n)+/, "");
  const own = `compute-operator(-${name}(-[a-z]+)?)\n`;
  const named = base
    .replaceAll(new RegExp(`^  name: ${own}`, "gm"), `  name: ${fullname}$1\n${labels}`)
    .replaceAll(new RegExp(`policyName: ${own}`, "g"), `policyName: ${fullname}$1\n`);
  return `{{- if .Values.${value}.enabled }}\n${named}{{- end }}\n`;
}

/** The template as it stands, with the rules of each role as deploy/base has them. */
function rbac(): string {
  let text = readFileSync(`${templates}/rbac.yaml`, "utf8");
  for (const role of roles.flatMap(rolesIn)) {
    const at = text.indexOf(`  name: {{ $name }}${role.suffix}\n`);
    const from = text.indexOf("\nrules:\n", at) + "\nrules:\n".length;
    const length = text.slice(from).search(/^(?! )/m);
    if (at === -1 || length < 1)
      throw new Error(`${templates}/rbac.yaml lacks the role compute-operator${role.suffix}`);
    text = text.slice(0, from) + role.rules + text.slice(from + length);
  }
  return text;
}

function rolesIn(file: string): { suffix: string; rules: string }[] {
  const documents = readFileSync(`deploy/base/shared/rbac/${file}.yaml`, "utf8").split(/^---\n/m);
  return documents.flatMap((text) => {
    const [, suffix = ""] = /^ {2}name: compute-operator(\S*)$/m.exec(text) ?? [];
    const [, rules] = /^rules:\n([\s\S]*)$/m.exec(text) ?? [];
    return rules === undefined ? [] : [{ suffix, rules }];
  });
}
