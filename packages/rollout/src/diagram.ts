import type { AnyStateMachine } from 'xstate';
import { toDirectedGraph } from 'xstate/graph';

/** A machine without nested states as a Mermaid `stateDiagram-v2`, from the machine itself. */
export function stateDiagram(machine: AnyStateMachine): string {
  const root = toDirectedGraph(machine);
  const { initial } = machine.config;
  const lines = ['stateDiagram-v2', ...(typeof initial === 'string' ? [`  [*] --> ${initial}`] : [])];
  for (const node of root.children) {
    for (const edge of node.edges)
      lines.push(`  ${edge.source.key} --> ${edge.target.key}: ${edge.label.text}${guardOf(edge.transition.guard)}`);
    if (node.stateNode.type === 'final') lines.push(`  ${node.stateNode.key} --> [*]`);
  }
  return `${lines.join('\n')}\n`;
}

const guardOf = (guard: unknown): string => (typeof guard === 'string' ? ` [${guard}]` : '');
