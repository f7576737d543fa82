import { describe, expect, test } from 'vitest';
import { payloadManifest } from '../../testing/payload-fixture.ts';
import { byNumberAndComponent, flattenByNumberAndComponent } from './grouping.ts';
import { isJob, TaskGraph, type TaskNode, toTasks } from './task-graph.ts';

/** Tasks from names of files: `J…` is a Job, everything else a Pod; levels and components as payloads name them. */
const tasksOf = (names: string) =>
  toTasks(
    names.split(' ').map((name) => {
      const job = name.startsWith('J');
      const file = name.replace(/^[JP]/, '').replace(/^(?=\d)/, '0000_');
      return payloadManifest(`release-manifests/${file}`, {
        apiVersion: job ? 'batch/v1' : 'v1',
        kind: job ? 'Job' : 'Pod',
        metadata: { name: 'x' },
      });
    }),
  );

const textOf = ({ tasks, in: before, out }: TaskNode, index: number): string => {
  const names = tasks.map(({ manifest }) => manifest.file.slice('release-manifests/'.length).replace('0000_', ''));
  return `${index}{${names.join(',')}} in[${before.join(',')}] out[${out.join(',')}]`;
};

describe('split at Jobs and parallel by number and component', () => {
  test.each<{ names: string; want: string[] }>([
    { names: 'Pa J50_a_0', want: ['0{50_a_0} in[1] out[]', '1{a} in[] out[0]'] },
    { names: 'Pa J50_a_0 P50_a_1 P50_a_2', want: ['0{50_a_0} in[1] out[2]', '1{a} in[] out[0]', '2{50_a_1,50_a_2} in[0] out[]'] },
    {
      names: 'Ja P50_a_0 P50_b_0 P50_b_1',
      want: ['0{a} in[] out[1]', '1{} in[0] out[2,3]', '2{50_a_0} in[1] out[]', '3{50_b_0,50_b_1} in[1] out[]'],
    },
    {
      names: 'Ja P50_a_0 P50_b_0 P50_b_1 P50_c_0 Jb',
      want: [
        '0{a} in[] out[2]',
        '1{b} in[6] out[]',
        '2{} in[0] out[3,4,5]',
        '3{50_a_0} in[2] out[6]',
        '4{50_b_0,50_b_1} in[2] out[6]',
        '5{50_c_0} in[2] out[6]',
        '6{} in[3,4,5] out[1]',
      ],
    },
    {
      names: '07_a_0 08_a_0 09_a_0 09_a_1 09_b_0 09_b_1 10_a_0 10_a_1 11_a_0 11_a_1',
      want: [
        '0{} in[] out[1]',
        '1{07_a_0,08_a_0} in[0] out[2,3]',
        '2{09_a_0,09_a_1} in[1] out[4]',
        '3{09_b_0,09_b_1} in[1] out[4]',
        '4{10_a_0,10_a_1,11_a_0,11_a_1} in[2,3] out[]',
      ],
    },
    {
      names: '03_a_ 03_b_ 05_c_ 05_d_ 07_e_',
      want: [
        '0{} in[] out[1,2]',
        '1{03_a_} in[0] out[3]',
        '2{03_b_} in[0] out[3]',
        '3{} in[1,2] out[4,5]',
        '4{05_c_} in[3] out[6]',
        '5{05_d_} in[3] out[6]',
        '6{07_e_} in[4,5] out[]',
      ],
    },
    {
      names: '00_cvo_ 90_cvo_ 03_x_ 03_y_ 05_z_ 10_e_ 10_k_',
      want: [
        '0{} in[] out[1]',
        '1{00_cvo_,90_cvo_} in[0] out[2,3]',
        '2{03_x_} in[1] out[4]',
        '3{03_y_} in[1] out[4]',
        '4{05_z_} in[2,3] out[5,6]',
        '5{10_e_} in[4] out[]',
        '6{10_k_} in[4] out[]',
      ],
    },
    { names: 'Pa', want: ['0{a} in[] out[]'] },
    { names: '50_a_0 50_a_1', want: ['0{50_a_0,50_a_1} in[] out[]'] },
  ])('$names', ({ names, want }) => {
    expect(new TaskGraph(tasksOf(names)).split(isJob).parallelize(byNumberAndComponent).nodes.map(textOf)).toEqual(want);
  });
});

test('flattened, every component of every level is one node, and a file of another name stands alone', () => {
  const { nodes } = new TaskGraph(tasksOf('03_a_0 03_a_1 03_b_0 x y 04_b_0')).split(isJob).parallelize(flattenByNumberAndComponent);
  expect(nodes.map(textOf)).toEqual([
    '0{} in[] out[1,2,3,4,5]',
    '1{03_a_0,03_a_1} in[0] out[]',
    '2{03_b_0} in[0] out[]',
    '3{x} in[0] out[]',
    '4{y} in[0] out[]',
    '5{04_b_0} in[0] out[]',
  ]);
});
