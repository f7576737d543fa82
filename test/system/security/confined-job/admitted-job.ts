/** The table of SECURITY.md that says which Job the agent may make: read, and held against a Job. Knows nothing of the admission policy. */

/** What the table's words leave to the installation. */
interface Installation {
  /** Repositories whose images may run. */
  readonly repositories: readonly string[];
  /** Paths of the node that may be mounted, with what lies below. */
  readonly hostPaths: readonly string[];
}

interface Row {
  /** Selects fields; several fields may share a row. */
  readonly path: RegExp;
  /** The field as the table names it, when every Job has to have it. */
  readonly required: string | undefined;
  readonly admits: (value: unknown, job: unknown, path: string) => boolean;
}

/** Reads the table below a heading. Throws when a row cannot be read: nothing of it may be overlooked. */
export function readTable(document: string, installation: Installation): readonly Row[] {
  const lines = linesBelow(document, '## The Job of pre-caching');
  if (lines.length < 40) throw new Error(`the table has ${lines.length} rows`);
  return rowsOf(lines, installation);
}

/** Reads the table of the DaemonSet: rows of the Job's pod hold where it has none for their field. */
export function readNodesTable(document: string, installation: Installation): readonly Row[] {
  const own = linesBelow(document, '## The DaemonSet of pre-caching');
  if (own.length < 12) throw new Error(`the table of the DaemonSet has ${own.length} rows`);
  const rows = rowsOf(own, installation);
  const isReplaced = ({ path }: Row): boolean => rows.some((row) => row.path.source === path.source);
  const ofPod = /^\^spec\\\.template\\\.(spec|metadata\\\.annotations)/;
  return [...rows, ...readTable(document, installation).filter((row) => ofPod.test(row.path.source) && !isReplaced(row))];
}

const linesBelow = (document: string, heading: string): string[] =>
  (document.split(`${heading}\n`)[1]?.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));

function rowsOf(lines: readonly string[], installation: Installation): Row[] {
  return lines.flatMap((line) => {
    const [fields = '', value = '', optional = ''] = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|'));
    return [...fields.matchAll(/`([^`]+)`/g)].map(([, field = '']) => ({
      path: toPattern(field),
      required: optional.startsWith('no') ? field : undefined,
      admits: toCheck(value, installation),
    }));
  });
}

/** `pod.volumes[config].configMap` → an expression over the paths of `leavesOf`; what lies below a field belongs to it. */
function toPattern(field: string): RegExp {
  const whole = field.replace(/^pod\b/, 'spec.template.spec').replace(/^container\b/, 'spec.template.spec.containers[*]');
  const parts = whole.split(/(\[[^\]]+\])/).map((part) => {
    if (part === '[*]') return '\\[[^\\]]*\\]';
    if (part.startsWith('[')) return `\\[(${part.slice(1, -1).split(',').map(escapeText).join('|')})\\]`;
    return escapeText(part);
  });
  return new RegExp(`^${parts.join('')}([.[].*)?$`);
}

const escapeText = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');

const NODE_PATH = '/host(/\\.?[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*)+';
const list = (item: string, separator: string) => new RegExp(`^${item}(${separator}${item})*$`);
const matches = (expression: RegExp) => (value: unknown) => typeof value === 'string' && expression.test(value);

function toCheck(value: string, { repositories, hostPaths }: Installation): Row['admits'] {
  const code = /^`(.*)`$/.exec(value)?.[1];
  if (code?.startsWith('/') && code.endsWith('/')) {
    const [, flags = '', source = ''] = /^(?:\(\?(s)\))?(.*)$/s.exec(code.slice(1, -1)) ?? [];
    return matches(new RegExp(`^(?:${source})$`, flags));
  }
  if (code !== undefined) return (found) => JSON.stringify(found) === JSON.stringify(JSON.parse(code));
  switch (value) {
    case 'not here':
      return () => false;
    case 'any':
      return () => true;
    case 'any of `cpu` and `memory`':
      return (_found, _job, path) => /\.(cpu|memory)$/.test(path);
    case 'a path of `confinement.hostPaths`, or below one':
      return (path) =>
        matches(new RegExp(`^${NODE_PATH}$`))(`/host${String(path)}`) &&
        hostPaths.some((place) => path === place || String(path).startsWith(`${place}/`));
    case "a tag or digest of a repository of `confinement.images`: by default the puller's beside the agent's own":
      return (image) => repositories.some((name) => new RegExp(`^${escapeText(name)}(:[^/]*|@.*)?$`).test(String(image)));
    case '`/host` and the path of its volume':
      return (mountPath, job, path) => {
        const name = /volumeMounts\[([^\]]+)\]/.exec(path)?.[1] ?? '';
        return leavesOf(job).some(
          ([leaf, at]) => leaf === `spec.template.spec.volumes[${name}].hostPath.path` && mountPath === `/host${String(at)}`,
        );
      };
    case 'a path below `/host`, without `.` and `..`':
      return matches(new RegExp(`^${NODE_PATH}$`));
    case 'such paths, separated by `,`':
      return matches(list(NODE_PATH, ','));
    case 'such paths, separated by `:`':
      return matches(list(NODE_PATH, ':'));
    case 'such paths or `/etc/config/registry-ca.pem`, separated by `:`':
      return matches(list(`(/etc/config/registry-ca\\.pem|${NODE_PATH})`, ':'));
    default:
      throw new Error(`the table says ${value}, which this test cannot read`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A list whose items have names is addressed by them, another one is a value of its own. */
function leavesOf(value: unknown, path = ''): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value) && value.every((item) => isObject(item) && typeof item.name === 'string'))
    return value.flatMap((item: Record<string, unknown>) => {
      const { name, ...rest } = item;
      const at = `${path}[${String(name)}]`;
      // The one container's name is a field of the table; names of other items are their address.
      return path.endsWith('.containers') ? [[`${at}.name`, name] as const, ...leavesOf(rest, at)] : leavesOf(rest, at);
    });
  if (!isObject(value) || Object.keys(value).length === 0) return [[path, value]];
  return Object.entries(value).flatMap(([key, child]) =>
    leavesOf(
      child,
      path.endsWith('metadata.annotations') || path.endsWith('metadata.labels') ? `${path}[${key}]` : path ? `${path}.${key}` : key,
    ),
  );
}

/** Why the table does not admit a Job; empty when it does. */
export function refusals(table: readonly Row[], job: Record<string, unknown>): string[] {
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = job;
  const leaves = leavesOf(rest);
  const wrong = leaves.flatMap(([path, value]) => {
    const rows = table.filter((row) => row.path.test(path));
    return rows.some((row) => row.admits(value, job, path)) ? [] : [`${path} = ${JSON.stringify(value)?.slice(0, 80)}`];
  });
  const containers = leaves.filter(([path]) => /^spec\.template\.spec\.containers\[[^\]]*\]\.name$/.test(path)).length;
  const mounts = new Set(leaves.flatMap(([path]) => /^(.*\.volumeMounts\[[^\]]+\])/.exec(path)?.[1] ?? []));
  const missing = table.flatMap(({ required, path }) => {
    if (required === undefined) return [];
    // The folder of records is the only one that is written.
    const isReadOnly = (mount: string) => mount.endsWith('[record]') || leaves.some(([leaf]) => leaf === `${mount}.readOnly`);
    if (required.includes('volumeMounts[*]')) return [...mounts].filter((mount) => !isReadOnly(mount));
    return leaves.some(([leaf]) => path.test(leaf)) ? [] : [`no ${required}`];
  });
  return [...wrong, ...missing, ...(containers === 1 ? [] : [`${containers} containers`])];
}
