// JDBC with verify-full and channel binding: the URL, the role, its password and the authority's file.
import java.sql.DriverManager;
import java.util.Properties;

public class Query {
  public static void main(String[] args) throws Exception {
    var properties = new Properties();
    properties.setProperty("user", args[1]);
    properties.setProperty("password", args[2]);
    properties.setProperty("sslmode", "verify-full");
    properties.setProperty("sslrootcert", args[3]);
    properties.setProperty("channelBinding", "require");
    try (var connection = DriverManager.getConnection(args[0], properties);
        var statement = connection.prepareStatement("SELECT current_user")) {
      var rows = statement.executeQuery();
      rows.next();
      System.out.println(rows.getString(1));
    }
  }
}
