/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "fault.h"
#include "options_parse.h"

#define MARGIN 23 /* where the explanation starts */
#define WIDTH  79

/* Words of text up to the right margin, each line indented. */
static void
print_text(const char *text)
{
	int column = MARGIN;

	while (*text != '\0') {
		int length = (int)strcspn(text, " ");

		if (column > MARGIN && column + 1 + length > WIDTH) {
			printf("\n%*s", MARGIN, "");
			column = MARGIN;
		}
		column += printf("%s%.*s", column > MARGIN ? " " : "", length,
				 text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void
print_rows(const char *title, const struct options_row *row)
{
	printf("\n%s:\n", title);
	for (; row->name != NULL; row++) {
		int column = printf("  --%s%s%s", row->name,
				    row->value != NULL ? " " : "",
				    row->value != NULL ? row->value : "");

		if (column >= MARGIN) {
			putchar('\n');
			column = 0;
		}
		printf("%*s", MARGIN - column, "");
		print_text(row->help);
	}
}

static void
print_calls(void)
{
	char text[1024];
	size_t at = 0;

	for (int call = 0; call < NB_FAULT_CALLS; call++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
				       call == 0 ? "" : " ",
				       fault_call_name((enum fault_call)call));
	printf("  kinds of calls:%*s", MARGIN - 17, "");
	print_text(text);
}

static void
print_commands(void)
{
	const struct command *command;
	uint32_t n = 0;

	printf("\nCommands, for ctl and scenarios:\n"
	       "  %-*s the report of the running machine as it is now\n",
	       MARGIN - 3, "report");
	while ((command = command_nth(n++)) != NULL) {
		printf("  %s %s\n%*s", command->name, command->usage, MARGIN,
		       "");
		print_text(command->help);
	}
}

void
options_help(void)
{
	fputs(
"usage: mana-model [options] [--] program [arguments...]\n"
"       mana-model ctl NAME report | COMMAND\n"
"       mana-model replay [--verbs | --completions] FILE [options] -- program\n"
"       mana-model --list-violations\n"
"\n"
"Runs a program on a modelled machine with MANA adapters. The machine is\n"
"switched off, and whatever still runs on it ended, when the program ends, or\n"
"when mana-model itself is killed.\n",
	      stdout);
	print_rows("The machine", options_machine);
	print_rows("The wires", options_wire);
	print_rows("The device", options_device);
	print_calls();
	print_rows("What nobody knows of it; the first value is the default",
		   options_quirks);
	print_rows("What is seen of it", options_output);
	print_commands();
	fputs(
"\n"
"Exit status: the program's; 128 + n if signal n ended it; 3 if a violation\n"
"was fatal; 4 if the program differed from what was replayed; 125 if\n"
"mana-model itself failed, 126 if the program could not be started, 127 if it\n"
"was not found.\n"
"\n"
"The run folder is made in $MANA_MODEL_RUNDIR, else in /dev/shm, else in /tmp.\n"
"With MANA_MODEL_END_WITH_PARENT=1 the machine is switched off, too, when the\n"
"thread ends that has started mana-model; a wrapper that ends counts.\n",
	      stdout);
}
