import type { FieldChange, Manifest, TaskNode } from '@flotilla/release';
import { printed } from '../payload/print.ts';
import { safeJson, safeText } from '../terminal/output.ts';
import type { ObjectPlan } from './object-plan.ts';

/** Effects of an update, in its order. */
interface UpdateDiff {
  readonly version: string;
  /** Version of the cluster; empty when it reports none. */
  readonly from: string;
  readonly nodes: readonly TaskNode[];
  readonly plans: ReadonlyMap<Manifest, ObjectPlan>;
}

/** Prints the diff as JSON. */
export function diffAsJson({ version, from, nodes, plans }: UpdateDiff): string {
  return safeJson({
    version,
    from,
    nodes: nodes.map((node, index) => ({
      id: `n${index}`,
      after: node.in.map((before) => `n${before}`),
      objects: plansOf(node, plans).map(({ manifest, action, changes, note, refused }) => ({
        ...printed(manifest),
        action,
        changes,
        ...(note !== '' && { note }),
        ...(refused !== '' && { refused }),
      })),
    })),
  });
}

/** Prints the changes for people; with `isAll` the unchanged objects too. */
export function diffAsText({ nodes, plans }: UpdateDiff, isAll: boolean): string {
  return nodes
    .flatMap((node, index) => {
      const lines = plansOf(node, plans)
        .filter(({ action, refused }) => isAll || action !== 'leave' || refused !== '')
        .flatMap(linesOf);
      return lines.length === 0 ? [] : [headingOf(node, index), ...lines];
    })
    .map((line) => `${safeText(line)}\n`)
    .join('');
}

const plansOf = ({ tasks }: TaskNode, plans: ReadonlyMap<Manifest, ObjectPlan>): ObjectPlan[] =>
  tasks.flatMap(({ manifest }) => plans.get(manifest) ?? []);

const headingOf = (node: TaskNode, index: number): string =>
  `n${index}${node.in.length === 0 ? '' : ` after ${node.in.map((before) => `n${before}`).join(', ')}`}`;

function linesOf({ manifest, action, changes, note, refused }: ObjectPlan): string[] {
  const { kind, namespace, name, file } = printed(manifest);
  const about = [note, refused && `REFUSED: ${oneLine(refused)}`].filter((text) => text !== '').join('; ');
  return [
    `  ${action.padEnd(6)} ${kind} ${namespace === '' ? name : `${namespace}/${name}`} (${file})${about === '' ? '' : `: ${about}`}`,
    ...changes.map(lineOfChange),
  ];
}

function lineOfChange({ path, from, to }: FieldChange): string {
  if (from === undefined) return `         + ${path}: ${shown(to)}`;
  if (to === undefined) return `         - ${path}: ${shown(from)}`;
  return `         ~ ${path}: ${shown(from)} → ${shown(to)}`;
}

const shown = (value: unknown): string => shortened(JSON.stringify(value) ?? '');
const oneLine = (text: string): string => shortened(text.replaceAll(/\s+/g, ' '), 400);
const shortened = (text: string, most = 120): string => (text.length > most ? `${text.slice(0, most - 3)}...` : text);
