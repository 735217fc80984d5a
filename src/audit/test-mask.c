#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "audit/mask.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"

static void expect(const char *text, const char *wanted)
{
	scoped(buffer_donep) struct buffer out = {0};

	mask_text(NULL, text, strlen(text), &out);
	assert_string_equal(buffer_str(&out), wanted);
}

static void values_of_secret_names_are_masked(void **state)
{
	expect("TOKEN=abc make", "TOKEN=*** make");
	expect("export GITHUB_TOKEN='a b' X=1", "export GITHUB_TOKEN=*** X=1");
	expect("DB_PASSWORD=\"x y\"z ls", "DB_PASSWORD=*** ls");
	expect("API_KEY=1 STRIPE_KEY=2 MYSQL_PWD=3 PWD=/x",
	       "API_KEY=*** STRIPE_KEY=*** MYSQL_PWD=*** PWD=/x");
	expect("aws_secret_access_key = abc", "aws_secret_access_key = ***");
	expect("{\"password\": \"p\", \"user\": \"u\"}", "{\"password\": ***, \"user\": \"u\"}");
	expect("curl 'https://x/?api_key=abc&q=1'", "curl 'https://x/?api_key=***&q=1'");
	expect("curl -d \"{\\\"password\\\": \\\"p q\\\",\\\"user\\\": 1}\"",
	       "curl -d \"{\\\"password\\\": ***,\\\"user\\\": 1}\"");
	expect("python3 -c 'os.environ[\"API_KEY\"]=\"a\"; x'",
	       "python3 -c 'os.environ[\"API_KEY\"]=***; x'");
	expect("PASSWORD+=abc x", "PASSWORD+=*** x");
	expect("env \"DB_PASSWORD=a b\" x", "env \"DB_PASSWORD=***\" x");
}

static void values_of_secret_options_are_masked(void **state)
{
	expect("x --password=abc --user u", "x --password=*** --user u");
	expect("x --password abc -v", "x --password *** -v");
	expect("x --api-key 'a b' y", "x --api-key *** y");
	expect("x --token-file /a/b", "x --token-file /a/b");
	expect("x --max-tokens 100", "x --max-tokens 100");
	expect("curl -u joe:secret http://h/", "curl -u joe:*** http://h/");
	expect("curl --user 'joe:s e' h", "curl --user 'joe:***' h");
	expect("docker run -u 1000:1000 x", "docker run -u 1000:1000 x");
	expect("mysql -psecret db", "mysql -p*** db");
	expect("sshpass -p secret ssh h", "sshpass -p *** ssh h");
	expect("docker login -u me -p secret h", "docker login -u me -p *** h");
	expect("curl -ujoe:secret h", "curl -ujoe:*** h");
	expect("curl -U joe:secret h", "curl -U joe:*** h");
	expect("x \"--password=a b\" y", "x \"--password=***\" y");
	expect("mkdir -p a/b", "mkdir -p a/b");
	expect("git commit --author='A B'", "git commit --author='A B'");
	expect("x --user-token abc y", "x --user-token *** y");
	expect("x --user-password=abc y", "x --user-password=*** y");
	expect("x --proxy-user-secret 'a b' y", "x --proxy-user-secret *** y");
	expect("x -user-token abc y", "x -user-token *** y");
	expect("'x' '--user-token' 'abc' 'y'", "'x' '--user-token' *** 'y'");
}

/* Every word of the line that is executed stands in quotes. */
static void canonical_lines_are_masked(void **state)
{
	expect("'curl' '-u' 'joe:secret' 'http://h/'", "'curl' '-u' 'joe:***' 'http://h/'");
	expect("'curl' '-ujoe:secret' 'h'", "'curl' '-ujoe:***' 'h'");
	expect("'curl' '--user' 'joe:se cret' 'h'", "'curl' '--user' 'joe:***' 'h'");
	expect("curl \"-u\" \"joe:secret\" h", "curl \"-u\" \"joe:***\" h");
	expect("'docker' 'run' '-u' '1000:1000' 'x'", "'docker' 'run' '-u' '1000:1000' 'x'");
	expect("'docker' 'login' '-u' 'me' '-p' 'secret' 'h'",
	       "'docker' 'login' '-u' 'me' '-p' *** 'h'");
	expect("'mysql' '-uroot' '-psecret' 'db'", "'mysql' '-uroot' '-p***' 'db'");
	expect("'sshpass' '-psecret' 'ssh' 'h'", "'sshpass' '-p***' 'ssh' 'h'");
	expect("'sshpass' '-p' 'secret' 'ssh' 'h'", "'sshpass' '-p' *** 'ssh' 'h'");
	expect("'x' '--password' 'a b' '-v'", "'x' '--password' *** '-v'");
	expect("'sudo' '-u' 'joe' 'ls'", "'sudo' '-u' 'joe' 'ls'");
	expect("'x' '-u'", "'x' '-u'");
	expect("'mkdir' '-p' 'a'", "'mkdir' '-p' 'a'");
}

/* What a letter means depends on the program. */
static void short_options_of_other_programs_are_masked(void **state)
{
	expect("redis-cli -h h -a secret ping", "redis-cli -h h -a *** ping");
	expect("'redis-cli' '-a' 'se cret' 'ping'", "'redis-cli' '-a' *** 'ping'");
	expect("zip -P secret x.zip a", "zip -P *** x.zip a");
	expect("zip -rP 'se cret' x.zip a", "zip -rP *** x.zip a");
	expect("'zip' '-Psecret' 'x.zip'", "'zip' '-P***' 'x.zip'");
	expect("/usr/bin/unzip -P secret x", "/usr/bin/unzip -P *** x");
	expect("7z a -psecret x.7z f && mkdir -p d", "7z a -p*** x.7z f && mkdir -p d");
	expect("7z a -p'se cret' x.7z f", "7z a -p*** x.7z f");
	expect("ldapsearch -x -D cn=a -w secret -b dc=x", "ldapsearch -x -D cn=a -w *** -b dc=x");
	expect("mongosh -u me -p secret h", "mongosh -u me -p *** h");
	expect("http -a joe:secret GET h/x", "http -a *** GET h/x");
	expect("curl http://h -a x", "curl http://h -a x");
	expect("smbclient -U 'joe%secret' //h/x", "smbclient -U *** //h/x");
	expect("gzip -P x; tar -p", "gzip -P x; tar -p");
	expect("htpasswd -b file joe secret", "htpasswd -b file joe ***");
	expect("htpasswd -nbB joe 'se cret'", "htpasswd -nbB joe ***");
	expect("'htpasswd' '-b' 'file' 'joe' 'secret'", "'htpasswd' '-b' 'file' 'joe' ***");
	expect("openssl enc -pass pass:secret -in f", "openssl enc -pass *** -in f");
	expect("openssl rsa -passin pass:secret -in f", "openssl rsa -passin pass:*** -in f");
	expect("openssl enc -aes-256-cbc -k secret -in f", "openssl enc -aes-256-cbc -k *** -in f");
	expect("gpg --batch --passphrase secret -d f", "gpg --batch --passphrase *** -d f");
	expect("wget --password=secret h", "wget --password=*** h");
	expect("curl --proxy-user joe:secret h", "curl --proxy-user joe:*** h");
	expect("pip install --index-url https://joe:pw@h/simple x",
	       "pip install --index-url https://joe:***@h/simple x");
}

static void settings_are_masked(void **state)
{
	expect("npm config set //registry.example.org/:_authToken secret",
	       "npm config set //registry.example.org/:_authToken ***");
	expect("npm config set //h/:_authToken=secret", "npm config set //h/:_authToken=***");
	expect("'npm' 'config' 'set' '//h/:_authToken' 'se cret'",
	       "'npm' 'config' 'set' '//h/:_authToken' ***");
	expect("aws configure set aws_secret_access_key secret; ls",
	       "aws configure set aws_secret_access_key ***; ls");
	expect("git config --global github.token secret", "git config --global github.token ***");
	expect("git config user.name joe", "git config user.name joe");
	expect("npm config get _authToken", "npm config get _authToken");
	expect("cat config/secret file", "cat config/secret file");
}

static void headers_and_urls_are_masked(void **state)
{
	expect("curl -H 'Authorization: Bearer a.b c' u", "curl -H 'Authorization: ***' u");
	expect("curl -H \"Cookie: a=b; c=d\" u", "curl -H \"Cookie: ***\" u");
	expect("git clone https://joe:pw@host/x.git", "git clone https://joe:***@host/x.git");
	expect("git clone https://0123456789abcdef0123@host/x", "git clone https://***@host/x");
	expect("git clone https://joe@host/x", "git clone https://joe@host/x");
	expect("psql postgres://u:p@ss@h:5432/db", "psql postgres://u:***@h:5432/db");
	expect("curl http://h:80/a@b", "curl http://h:80/a@b");
}

static void tokens_are_known_by_their_shape(void **state)
{
	expect("echo ghp_0123456789abcdefghij0123456789abcdef", "echo ghp_***");
	expect("echo AKIAIOSFODNN7EXAMPLE.", "echo AKIA***");
	expect("echo sk-proj-abcdefghijklmnopqrstuvwxyz0123", "echo sk-***");
	expect("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "x eyJ***");
	expect("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx",
	       "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nx");
	expect("task-runner sk-short npm_x", "task-runner sk-short npm_x");
}

/* What stands behind a value is shown: a record must tell what was run. */
static void nothing_but_the_value_is_masked(void **state)
{
	expect("TOKEN=a; rm -rf x", "TOKEN=***; rm -rf x");
	expect("TOKEN=a&&rm x", "TOKEN=***&&rm x");
	expect("bash -c \"x --password=a\" && rm \"b c\"",
	       "bash -c \"x --password=***\" && rm \"b c\"");
	expect("TOKEN=$(cat f) x", "TOKEN=***(cat f) x");
	expect("ssh h \"TOKEN=a rm -r x\"", "ssh h \"TOKEN=*** rm -r x\"");
	expect("ls -la", "ls -la");
	expect("", "");
	expect("--password", "--password");
	expect("TOKEN=", "TOKEN=");
	expect("password", "password");
	expect("'", "'");
	expect("TOKEN='", "TOKEN=***");
	expect("TOKEN=\\", "TOKEN=***");
}

static void expect_word(const char *const *words, size_t i, const char *wanted)
{
	scoped(buffer_donep) struct buffer out = {0};

	mask_word(NULL, words, i, &out);
	assert_string_equal(buffer_str(&out), wanted);
}

static void words_know_the_one_in_front(void **state)
{
	expect_word((const char *const[]){"x", "--password", "a b", NULL}, 2, "***");
	expect_word((const char *const[]){"x", "--password", "--next", NULL}, 2, "--next");
	expect_word((const char *const[]){"API_KEY=a b; c", NULL}, 0, "API_KEY=***");
	expect_word((const char *const[]){"x", "--token=a b", NULL}, 1, "--token=***");
	expect_word((const char *const[]){"curl", "-u", "joe:x y", NULL}, 2, "joe:***");
	expect_word((const char *const[]){"sshpass", "-p", "a", NULL}, 2, "***");
	expect_word((const char *const[]){"sshpass", "-pa b", "x", NULL}, 1, "-p***");
	expect_word((const char *const[]){"docker", "login", "-p", "a", NULL}, 3, "***");
	expect_word((const char *const[]){"curl", "-ujoe:x", NULL}, 1, "-ujoe:***");
	expect_word((const char *const[]){"mkdir", "-p", "a", NULL}, 2, "a");
	expect_word((const char *const[]){"redis-cli", "-a", "a b", NULL}, 2, "***");
	expect_word((const char *const[]){"zip", "-rP", "a b", "x", NULL}, 2, "***");
	expect_word((const char *const[]){"zip", "-Pa b", "x", NULL}, 1, "-P***");
	expect_word((const char *const[]){"7z", "a", "-pa", "x", NULL}, 2, "-p***");
	expect_word((const char *const[]){"gzip", "-P", "x", NULL}, 2, "x");
	expect_word((const char *const[]){"npm", "config", "set", "//h/:_authToken", "a", NULL}, 4,
	            "***");
	expect_word((const char *const[]){"npm", "config", "set", "registry", "a", NULL}, 4, "a");
	expect_word((const char *const[]){"htpasswd", "-b", "f", "joe", "a", NULL}, 4, "***");
	expect_word((const char *const[]){"htpasswd", "-b", "f", "joe", "a", NULL}, 3, "joe");
	expect_word((const char *const[]){"bash", "-c", "TOKEN=a x", NULL}, 2, "TOKEN=*** x");
	expect_word((const char *const[]){"bash", "-c", "'mysql' '-pa' 'x'", NULL}, 2,
	            "'mysql' '-p***' 'x'");
	expect_word((const char *const[]){"bash", "-c", "curl -u joe:a h", NULL}, 2,
	            "curl -u joe:*** h");
}

/* A server masks what a client asks for, whatever it is, and serves nobody else meanwhile. */
static void the_time_grows_with_the_text_and_no_faster(void **state)
{
	static const char *const parts[] = {"-u=", "\"-u=", "-u='", "--user=", "'TOKEN='"};
	const char *words[6000] = {NULL};
	int64_t before = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	for (size_t i = 0; i < array_size(parts); i++) {
		scoped(buffer_donep) struct buffer text = {0}, got = {0};

		while (text.len < 1 << 20)
			buffer_puts(&text, parts[i]);
		mask_text(NULL, text.data, text.len, &got);
		assert_int_equal(buffer_error(&got), 0);
	}
	for (size_t i = 0; i + 1 < array_size(words); i++)
		words[i] = "-p";
	for (size_t i = 0; words[i]; i++) {
		scoped(buffer_donep) struct buffer got = {0};

		mask_word(NULL, words, i, &got);
	}
	assert_true(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before < 10000000000);
}

static void patterns_of_the_profile_follow(void **state)
{
	static const char *const patterns[] = {"corp-[0-9]+", "pin=(\\d+)", NULL};
	static const char *const slow[] = {"^(a+)+$", NULL};
	static const char *const wrong[] = {"(", NULL};
	scoped(mask_freep) struct mask *m = NULL;
	scoped(buffer_donep) struct buffer out = {0};
	struct error err = {0};
	char why[100], text[64];

	assert_int_equal(mask_new(patterns, &m, &err), 0);
	mask_text(m, "x corp-12 corp-3 pin=77 TOKEN=a", 31, &out);
	assert_string_equal(buffer_str(&out), "x *** *** pin=*** TOKEN=***");
	m = mask_free(m);
	buffer_clear(&out);
	/* A pattern that does not come to an end masks all. */
	assert_int_equal(mask_new(slow, &m, &err), 0);
	memset(text, 'a', 40);
	memcpy(text + 40, "!", 2);
	mask_text(m, text, 41, &out);
	assert_string_equal(buffer_str(&out), "***");
	m = mask_free(m);
	assert_int_equal(mask_new(wrong, &m, &err), -EINVAL);
	assert_int_equal(mask_check("(", why, sizeof(why)), -EINVAL);
	assert_int_equal(mask_check("a+", why, sizeof(why)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_secret_names_are_masked),
		cmocka_unit_test(values_of_secret_options_are_masked),
		cmocka_unit_test(canonical_lines_are_masked),
		cmocka_unit_test(short_options_of_other_programs_are_masked),
		cmocka_unit_test(settings_are_masked),
		cmocka_unit_test(headers_and_urls_are_masked),
		cmocka_unit_test(tokens_are_known_by_their_shape),
		cmocka_unit_test(nothing_but_the_value_is_masked),
		cmocka_unit_test(words_know_the_one_in_front),
		cmocka_unit_test(the_time_grows_with_the_text_and_no_faster),
		cmocka_unit_test(patterns_of_the_profile_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
