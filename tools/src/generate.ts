import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CrdManifest } from '@flotilla/api';
import { configCrds } from '@flotilla/api/config';
import { managedCrds } from '@flotilla/api/managed';
import { clusterSetCrds, transportCrds } from '@flotilla/api/ocm';
import { ranCrds } from '@flotilla/api/ran';
import { backupJobMachine, precacheJobMachine, rolloutClusterMachine, rolloutMachine } from '@flotilla/rollout';
import { stateDiagram } from '@flotilla/rollout/diagram';
import { describeOptions, type OptionRows } from '@flotilla/runtime';
import { managedUpgradeMachine } from '@flotilla/upgrade';
import { stringify } from 'yaml';

/** One committed file made from a source in the repository. */
interface Output {
  /** Path from the repository's root. */
  readonly path: string;
  /** The whole file. `current` is what it is now, for files that are generated in part; empty when there is none. */
  readonly render: (current: string) => string;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** The options of a program. Nobody imports an app, so its rows are read from the file. */
async function optionsOf(app: string): Promise<OptionRows> {
  const { options } = (await import(pathToFileURL(join(root, 'apps', app, 'src/config.ts')).href)) as { options: OptionRows };
  return options;
}

const hasOptions = ['hub', 'image-puller', 'spoke-agent', 'upgrade-operator', 'version-operator'];
const tables = await Promise.all(
  hasOptions.map(async (app) => ({ path: `apps/${app}/README.md`, table: optionTable(await optionsOf(app)) })),
);

/** Every generated file. Append here what is generated next. */
const outputs: readonly Output[] = [
  ...ranCrds().map((crd) => ({
    path: `charts/hub/templates/crds/${crd.metadata.name}.yaml`,
    render: () => crdTemplate(crd, '.Values.crds.enabled'),
  })),
  // Where RHACM is, they are its own.
  ...transportCrds().map((crd) => ({
    path: `charts/hub/templates/crds/${crd.metadata.name}.yaml`,
    render: () => crdTemplate(crd, 'and .Values.crds.enabled .Values.standalone'),
  })),
  ...clusterSetCrds().map((crd) => ({
    path: `charts/hub/templates/crds/${crd.metadata.name}.yaml`,
    render: () => crdTemplate(crd, 'and .Values.crds.enabled .Values.standalone .Values.tenancy'),
  })),
  ...managedCrds().map((crd) => ({
    path: `charts/spoke/templates/crds/${crd.metadata.name}.yaml`,
    render: () => crdTemplate(crd, 'and .Values.crds.enabled .Values.upgradeOperator.enabled'),
  })),
  ...configCrds().map((crd) => ({
    path: `charts/spoke/templates/crds/${crd.metadata.name}.yaml`,
    render: () => crdTemplate(crd, 'and .Values.crds.enabled .Values.versionOperator.enabled'),
  })),
  {
    path: 'apps/hub/README.md',
    render: (current) =>
      Object.entries({
        'precache states': precacheJobMachine.machine,
        'backup states': backupJobMachine.machine,
        'rollout states': rolloutMachine,
        'rollout states of a cluster': rolloutClusterMachine,
      }).reduce((document, [name, machine]) => withBlock(document, name, diagramBlock(machine)), current),
  },
  {
    path: 'apps/upgrade-operator/README.md',
    render: (current) => withBlock(current, 'phases', diagramBlock(managedUpgradeMachine)),
  },
  ...tables.map(({ path, table }) => ({ path, render: (current: string) => withBlock(current, 'options', table) })),
];

/** The options of a program as a table in Markdown. */
function optionTable(rows: OptionRows): string {
  const lines = describeOptions(rows).map(({ flag, variable, byDefault, meaning }) => {
    const shown = byDefault === '' ? '' : `\`${byDefault}\` `;
    return `| \`${flag}\` | \`${variable}\` | ${shown}| ${meaning} |`;
  });
  return ['| option | variable | default | meaning |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

const diagramBlock = (machine: Parameters<typeof stateDiagram>[0]): string => `\`\`\`mermaid\n${stateDiagram(machine)}\`\`\``;

/** A document with what is between the markers of a block replaced. */
function withBlock(document: string, name: string, content: string): string {
  const [begin, end] = [`<!-- generated: ${name} -->`, `<!-- end of generated: ${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`no block "${name}": write ${begin} and ${end} on lines of their own where it belongs`);
  return `${document.slice(0, from + begin.length)}\n\n${content}\n\n${document.slice(to)}`;
}

/**
 * A CRD as a chart template: Helm never upgrades a `crds/` folder, and a template can be switched off and kept on uninstall.
 * YAML is printed for 1.1 readers, which take a bare `on` or `y` for a boolean.
 */
function crdTemplate({ apiVersion, kind, metadata, spec }: CrdManifest, condition: string): string {
  const body = stringify({ spec }, { compat: 'yaml-1.1', lineWidth: 0, aliasDuplicateObjects: false });
  if (body.includes('{{')) throw new Error(`${metadata.name}: a description contains {{, which Helm would execute`);
  return `{{- /* Generated by npm run generate from packages/api; do not edit. */ -}}
{{- if ${condition} }}
apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: ${metadata.name}
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
${body}{{- end }}
`;
}

/** Writes what differs, or with `--check` only names it. Resolves to the paths that differed. */
async function generate(root: string, check: boolean): Promise<string[]> {
  const differing: string[] = [];
  for (const { path, render } of outputs) {
    const file = join(root, path);
    const current = await readFile(file, 'utf8').catch(() => undefined);
    const wanted = render(current ?? '');
    if (wanted === current) continue;
    differing.push(path);
    if (check) continue;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, wanted);
  }
  return differing;
}

const check = process.argv.includes('--check');
const differing = await generate(root, check);
for (const path of differing) console.log(check ? `out of date: ${path}` : `wrote ${path}`);
if (check && differing.length > 0) {
  console.error('Generated files differ from their source; run `npm run generate` and commit the result.');
  process.exitCode = 1;
}
