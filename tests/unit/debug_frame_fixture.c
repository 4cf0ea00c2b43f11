/* SPDX-License-Identifier: MIT */
/*
 * Functions of which .debug_frame alone tells, and so many that it gets smaller when it is packed.
 * They are only looked at.
 */
int first_function(int (*call)(int), int value);
int first_function(int (*call)(int), int value)
{
	return call(value) + 1;
}

#define FUNCTION(name, number)                                                                     \
	int name##_##number(int (*call)(int), int value);                                          \
	int name##_##number(int (*call)(int), int value)                                           \
	{                                                                                          \
		return call(value + number) * value - call(number);                                \
	}
#define FUNCTIONS(name)                                                                            \
	FUNCTION(name, 1)                                                                          \
	FUNCTION(name, 2)                                                                          \
	FUNCTION(name, 3)                                                                          \
	FUNCTION(name, 4)                                                                          \
	FUNCTION(name, 5)                                                                          \
	FUNCTION(name, 6)                                                                          \
	FUNCTION(name, 7)                                                                          \
	FUNCTION(name, 8)

FUNCTIONS(one)
FUNCTIONS(two)
FUNCTIONS(three)
FUNCTIONS(four)
