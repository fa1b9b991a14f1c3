/* A code generator in C: draws a model as a graph for Graphviz. `dot -Tsvg net.dot` renders it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <anybit/codegen.hpp>

static int fail(anybit_text* error, const char* why) {
  error->write(error->target, why, strlen(why));
  return 1;
}

/* Names come from the model and may contain any bytes. */
static void write_quoted(FILE* file, const char* text) {
  fputc('"', file);
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc(*text, file);
  }
  fputc('"', file);
}

static void write_edge(FILE* file, const anybit_value* value, size_t node, int into) {
  if (!into) fprintf(file, "  n%zu -> ", node);
  write_quoted(file, value->name);
  if (into) fprintf(file, " -> n%zu", node);
  fprintf(file, ";\n");
}

static int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
                    anybit_text* error) {
  const anybit_graph* graph = view->graph;
  FILE* file = fopen(path, "w");
  int failed;
  if (!file) return fail(error, strerror(errno));
  fprintf(file, "digraph model {\n");
  for (size_t i = 0; i < graph->node_count; ++i) {
    const anybit_node* node = &graph->nodes[i];
    fprintf(file, "  n%zu [shape=box, label=", i);
    write_quoted(file, node->op);
    fprintf(file, "];\n");
    for (size_t k = 0; k < node->input_count; ++k) {
      const anybit_value* value = node->inputs[k] < 0 ? NULL : &graph->values[node->inputs[k]];
      /* Omits weights, which would clutter the graph, except with the preference memory. */
      if (value && (!value->data || options->preference == ANYBIT_PREFER_MEMORY))
        write_edge(file, value, i, 1);
    }
    for (size_t k = 0; k < node->output_count; ++k)
      if (node->outputs[k] >= 0) write_edge(file, &graph->values[node->outputs[k]], i, 0);
  }
  fprintf(file, "}\n");
  failed = ferror(file);
  if (fclose(file) != 0 || failed) return fail(error, "the file could not be written");
  return 0;
}

static const anybit_codegen_plugin plugin = {
    ANYBIT_CODEGEN_ABI, "dot-gen", ".dot", "a diagram, for Graphviz", ANYBIT_VIEW_WRITTEN, generate, 0, 0, 0};

const anybit_codegen_plugin* anybit_codegen_entry(void) { return &plugin; }
