// What is selected in the network: a node of the report, or a group of nodes by its key.
export interface Selection {
  node?: number;
  group?: string;
  quiet?: boolean; // a node inside a block is selected without opening the block
}
