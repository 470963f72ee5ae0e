/** A name as SQL shows it. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as SQL shows it, after a space. */
export function literal(text: string): string {
  return ` E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
