#include "base/cleanup.h"
#include "base/error.h"
#include "base/test-support.h"
#include "gateway/destination.h"
#include "gateway/punycode.h"

static const enum network_list each[] = {NETWORK_ALLOW, NETWORK_ASK, NETWORK_DENY, NETWORK_PRIVATE};
/* a: allow, k: ask, d: deny, p: private */
static const char letters[] = "akdp";

static void an_entry_is_read_as_its_list_means_it(void **state)
{
	static const struct {
		const char *text, *lists, *shown;
	} good[] = {
		{"github.com", "akdp", "github.com"},
		{"GitHub.Com.", "akdp", "github.com"},
		{"a-b_c.x9", "akdp", "a-b_c.x9"},
		{"single", "akdp", "single"},
		{"xn--bcher-kva.example", "akdp", "xn--bcher-kva.example"},
		{"1password.com", "akdp", "1password.com"},
		{"4chan.3d", "akdp", "4chan.3d"},
		{"github.com:22", "akd", "github.com:22"},
		{"github.com:65535", "akd", "github.com:65535"},
		{"github.com:*", "ak", "github.com:*"},
		{"github.com:*", "d", "github.com"},
		{"*.x.y", "akdp", "*.x.y"},
		{"*.x.y:22", "akd", "*.x.y:22"},
		{"*.com", "kd", "*.com"},
		{"*", "akd", "*"},
		{"*:*", "ak", "*:*"},
		{"*:25", "akd", "*:25"},
		{"10.1.2.3:5432", "akd", "10.1.2.3:5432"},
		{"10.1.2.3:*", "akd", "10.1.2.3:*"},
		{"10.1.0.0/16:*", "akd", "10.1.0.0/16:*"},
		{"0.0.0.0/0:443", "akd", "0.0.0.0/0:443"},
		{"[fd12::5]:443", "akd", "[fd12::5]:443"},
		{"[FD12:0::5]:443", "akd", "[fd12::5]:443"},
		{"[fd12::/16]:*", "akd", "[fd12::/16]:*"},
		{"10.1.2.3", "p", "10.1.2.3"},
		{"10.0.0.0/8", "p", "10.0.0.0/8"},
		{"fd12::5", "p", "fd12::5"},
		{"[fd12::5]", "p", "fd12::5"},
		{"fd12::/16", "p", "fd12::/16"},
		{"host.nacre:6379", "ad", "host.nacre:6379"},
		{"host.nacre", "d", "host.nacre"},
		{"127.0.0.1:*", "d", "127.0.0.1:*"},
	};
	char shown[DESTINATION_TEXT_SIZE];

	for (size_t i = 0; i < array_size(good); i++)
		for (size_t l = 0; l < array_size(each); l++) {
			struct error err = {0};
			struct destination d;

			if (!strchr(good[i].lists, letters[l]))
				continue;
			if (destination_parse(good[i].text, each[l], &d, &err) < 0)
				fail_msg("%s: %s", good[i].text, err.text);
			destination_format(&d, each[l], shown);
			assert_string_equal(shown, good[i].shown);
		}
}

static void what_is_wrong_is_said_with_what_to_write(void **state)
{
	static const struct {
		const char *text, *lists, *said;
	} bad[] = {
		{"", "akdp", "names no host"},
		{"bücher.example", "akdp", "write 'xn--bcher-kva.example'"},
		{"BÜCHER.example", "akdp", "write 'xn--bcher-kva.example'"},
		{"пример.рф:443", "akd", "write 'xn--e1afmkfd.xn--p1ai:443'"},
		{"ex\xff.com", "akdp", "characters that no name has"},
		{"a\xe2\x80\xae.com", "akdp", "characters that no name has"},
		{"a b.com", "akdp", "blank"},
		{"a\tb", "akdp", "blank"},
		{"https://github.com", "akdp", "write the name alone"},
		{"github.com/org", "akdp", "no paths"},
		{"a.*.com", "akdp", "star at a wrong place"},
		{"a*.com", "akdp", "star at a wrong place"},
		{"*a.com", "akdp", "star at a wrong place"},
		{"**.com", "akdp", "star at a wrong place"},
		{"*.", "akdp", "star at a wrong place"},
		{"*.*.com", "akdp", "star at a wrong place"},
		{"*.com", "ap", "two labels"},
		{"*", "p", "too wide"},
		{"a..b", "akdp", "is not a name"},
		{".a", "akdp", "is not a name"},
		{"-a.b", "akdp", "is not a name"},
		{"a-.b", "akdp", "is not a name"},
		{"a@b", "akdp", "is not a name"},
		{"a,b", "akdp", "is not a name"},
		{"0x7f000001", "akdp", "is a number"},
		{"0x7F.1", "akdp", "is a number"},
		{"127.1", "akdp", "is a number"},
		{"2130706433:80", "akd", "is a number"},
		{"1.2.3.4.5", "akdp", "is a number"},
		{"010.1.2.3:80", "akd", "is a number"},
		{"x.0x", "akdp", "is a number"},
		{"10.1.2.3", "akd", "without a port"},
		{"10.0.0.0/8", "akd", "without a port"},
		{"[fd12::5]", "akd", "without a port"},
		{"fd12::5", "akd", "needs brackets"},
		{"fd12::/16", "akd", "needs brackets"},
		{"10.1.2.3:5432", "p", "entries of private have none"},
		{"x.test:5432", "p", "entries of private have none"},
		{"10.1.2.3/16:*", "akd", "clear them"},
		{"10.0.0.0/33:*", "akd", "number up to 32"},
		{"10.0.0.0/:*", "akd", "number up to 32"},
		{"10.0.0.0/08:*", "akd", "number up to 32"},
		{"[fd12::/129]:*", "akd", "number up to 128"},
		{"[fd12::5", "akdp", "closing bracket"},
		{"[x.test]:80", "akd", "no IPv6 address"},
		{"[fd12::5]x", "akdp", "after the bracket"},
		{"[::ffff:10.1.2.3]:80", "akd", "write it as IPv4"},
		{"127.0.0.1:80", "ak", "host.nacre:PORT"},
		{"127.8.0.0/16:*", "ak", "host.nacre:PORT"},
		{"[::1]:80", "ak", "host.nacre:PORT"},
		{"127.0.0.1", "p", "host.nacre:PORT"},
		{"localhost", "akdp", "host.nacre:PORT"},
		{"db.localhost:5432", "akd", "host.nacre:PORT"},
		{"*.localhost", "akdp", "needs no rule"},
		{"host.nacre", "ak", "write 'host.nacre:PORT' in allow"},
		{"host.nacre:*", "ak", "write 'host.nacre:PORT' in allow"},
		{"HOST.nacre.:80", "k", "write 'host.nacre:PORT' in allow"},
		{"host.nacre", "p", "needs no entry"},
		{"x.test:", "akdp", "no port"},
		{"x.test:0", "akdp", "no port"},
		{"x.test:080", "akdp", "no port"},
		{"x.test:65536", "akdp", "no port"},
		{"x.test:99999999999", "akdp", "no port"},
		{"x.test:http", "akdp", "no port"},
		{"x.test:-1", "akdp", "no port"},
		{"x.test:80:80", "akdp", "is not a name"},
	};

	for (size_t i = 0; i < array_size(bad); i++)
		for (size_t l = 0; l < array_size(each); l++) {
			struct error err = {0};
			struct destination d;

			if (!strchr(bad[i].lists, letters[l]))
				continue;
			print_message("# row %zu in %c\n", i, letters[l]);
			assert_true(destination_parse(bad[i].text, each[l], &d, &err) < 0);
			if (!strstr(err.text, bad[i].said))
				fail_msg("%s in %c: %s", bad[i].text, letters[l], err.text);
		}
}

static void a_name_has_labels_of_63_and_253_in_all(void **state)
{
	char label[65], name[260] = "", into[DESTINATION_NAME_SIZE];

	memset(label, 'a', 64);
	label[64] = '\0';
	assert_false(destination_canonical(label, 64, into));
	assert_true(destination_canonical(label, 63, into));
	for (int i = 0; i < 126; i++)
		strcat(name, "a.");
	strcat(name, "a");
	assert_int_equal(strlen(name), 253);
	assert_true(destination_canonical(name, 253, into));
	strcat(name, ".");
	assert_true(destination_canonical(name, 254, into)); /* a final dot does not count */
	name[253] = 'a';
	assert_false(destination_canonical(name, 254, into));
	assert_false(destination_canonical("a\0b", 3, into));
	assert_false(destination_canonical("", 0, into));
	assert_false(destination_canonical(".", 1, into));
	assert_false(destination_canonical("a..", 3, into));
}

static void other_letters_have_a_form_on_the_wire(void **state)
{
	static const struct {
		const char *name, *form;
	} samples[] = {
		{"bücher.example", "xn--bcher-kva.example"},
		{"münchen-ost.de", "xn--mnchen-ost-9db.de"},
		{"例え.jp", "xn--r8jz45g.jp"},
		{"plain", "plain"},
	};
	char form[128];

	for (size_t i = 0; i < array_size(samples); i++) {
		assert_true(punycode_name(samples[i].name, strlen(samples[i].name), form,
		                          sizeof(form)));
		assert_string_equal(form, samples[i].form);
	}
	assert_false(punycode_name("bücher", 7, form, 4));
	assert_false(punycode_name("a\xc3", 2, form, sizeof(form)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_read_as_its_list_means_it),
		cmocka_unit_test(what_is_wrong_is_said_with_what_to_write),
		cmocka_unit_test(a_name_has_labels_of_63_and_253_in_all),
		cmocka_unit_test(other_letters_have_a_form_on_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
